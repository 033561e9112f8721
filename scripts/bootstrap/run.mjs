/** Runs one step of the installation: says what it does and how far it is, and ends it cleanly on Ctrl-C. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const TERMINAL_EVERY_MS = 250;
const LINE_EVERY_MS = 5_000;
/** How long the programs of a step may take to end when they are told to. */
const END_MS = 5_000;
/** The exit code of a program that Ctrl-C has ended, by a shell's convention. */
const INTERRUPTED = 130;

/**
 * Set when a signal has come.
 * @type {Promise<void> | undefined}
 */
let stopping;

const isTerminal = process.stderr.isTTY === true;

/**
 * Runs the command in the repository. If it fails, prints its output and ends this process.
 * @param {readonly string[]} command
 * @param {{ what: string, hint: string, progress?: () => string }} texts `what` describes the command ("installing
 *   Envoy"), `progress` how far it is
 */
export async function run([program = '', ...args], { what, hint, progress = () => '' }) {
  // A process group of its own, so that the compilers and downloads below it are ended with it.
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const stopOnSignal = () => void stop(child, what);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stopOnSignal);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const line = showProgress(what, progress);
  const [code, signal] = await once(child, 'close').catch((error) => [describeSpawnError(error, program)]);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, stopOnSignal);
  if (stopping !== undefined) await stopping;
  line.end(code === 0);
  if (code === 0) return;
  process.stderr.write(output);
  fail(`${what} failed (${typeof code === 'string' ? code : (signal ?? `exit code ${code}`)}): ${hint}`);
}

/**
 * @param {NodeJS.ErrnoException} error
 * @param {string} program
 */
function describeSpawnError({ code, message }, program) {
  return code === 'ENOENT' ? `there is no ${program} in PATH` : message;
}

/**
 * On a terminal one line that moves, elsewhere a line every few seconds.
 * @param {string} what
 * @param {() => string} progress
 */
function showProgress(what, progress) {
  const startMs = performance.now();
  const seconds = () => `${Math.round((performance.now() - startMs) / 1000)} s`;
  const text = () => [what, progress(), seconds()].filter((part) => part !== '').join(', ');
  const show = () => process.stderr.write(isTerminal ? `\r  ${text()}\x1b[K` : `  ${text()}\n`);
  process.stderr.write(isTerminal ? '' : `  ${what} …\n`);
  const timer = setInterval(show, isTerminal ? TERMINAL_EVERY_MS : LINE_EVERY_MS);
  return {
    /** @param {boolean} isDone */
    end(isDone) {
      clearInterval(timer);
      process.stderr.write(`${isTerminal ? '\r' : ''}  ${what}: ${isDone ? 'done' : 'ended'} after ${seconds()}`);
      process.stderr.write(isTerminal ? '\x1b[K\n' : '\n');
    },
  };
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} what
 */
function stop(child, what) {
  stopping ??= (async () => {
    const closed = once(child, 'close');
    signalGroup(child, 'SIGTERM');
    await Promise.race([closed, delay(END_MS)]);
    signalGroup(child, 'SIGKILL'); // what has not ended by then, or has outlived npm
    process.stderr.write(`${isTerminal ? '\r\x1b[K' : ''}Stopped while ${what}: the next start goes on.\n`);
    process.exit(INTERRUPTED);
  })();
  return stopping;
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function signalGroup({ pid }, signal) {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
export function fail(message) {
  process.stderr.write(`petstore: ${message}\n`);
  process.exit(1);
}
