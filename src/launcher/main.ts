/**
 * `npm start`: brings the service up, says how to use it, and stops it cleanly on Ctrl-C or when the terminal is closed.
 * `kill -HUP` restarts the servers one after the other.
 */
import { type Config, ConfigError, readConfig } from '../config.ts';
import { PRIVATE_UMASK } from '../private-folder.ts';
import { ChildEnded } from './child.ts';
import { greeting } from './greeting.ts';
import { Interrupted, type Stack, startStack } from './stack.ts';
import { GivenUp, NotNow } from './supervisor.ts';
import { Terminal } from './terminal.ts';

const interrupt = new AbortController();
const terminal = new Terminal();
let stack: Stack | undefined;
/** When the first signal to stop came; undefined until then. */
let stoppingSinceMs: number | undefined;
/** Of one that is under way. */
let restart: { isWantedAgain: boolean } | undefined;

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  const config = readConfig();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.on('SIGHUP', () => hangUp(config));
  const { instances } = config;
  say(instances === 1 ? 'Starting the server and Envoy …' : `Starting ${instances} servers and Envoy …`);
  stack = await startStack(config, {}, { interrupt: interrupt.signal, say });
  say(greeting(config));
  await stack.ended;
  say('Stopped.');
}

/** Signals so close together are one key press: the terminal sends it to the launcher, and so does npm. */
const ONE_PRESS_MS = 500;

/** The first signal stops cleanly, amid the start too; a second one does not wait. */
function stop(): void {
  if (stoppingSinceMs !== undefined) {
    if (performance.now() - stoppingSinceMs < ONE_PRESS_MS) return;
    for (const child of stack === undefined ? [] : [stack.envoy, ...stack.servers]) child.process.kill('SIGKILL');
    process.exit(1);
  }
  stoppingSinceMs = performance.now();
  if (stack === undefined) {
    interrupt.abort();
  } else {
    say('\nStopping: open requests have 10 seconds to finish. Ctrl-C again ends them now.');
    void stack.stop();
  }
}

/** A terminal that is closed says it with the same signal, more than once at times. */
function hangUp({ instances }: Config): void {
  if (stoppingSinceMs !== undefined) return;
  if (terminal.hasHungUp()) stop();
  else if (instances === 1) say('A rolling restart needs INSTANCES of 2 or more: nothing was changed.');
  else if (stack === undefined) say('The service is only just starting: nothing is restarted.');
  else if (restart === undefined) void restartAll(stack);
  else if (!restart.isWantedAgain) {
    restart.isWantedAgain = true;
    say('A rolling restart is under way: another one follows it.');
  }
}

async function restartAll(running: Stack): Promise<void> {
  do {
    restart = { isWantedAgain: false };
    await running.restart();
  } while (restart.isWantedAgain && stoppingSinceMs === undefined);
  restart = undefined;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A terminal that is gone takes no more words; that must not be the end. */
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  await main();
} catch (error) {
  if (error instanceof Interrupted) say('Stopped.');
  else fail(error);
}

function fail(error: unknown): void {
  const isSystem = error instanceof Error && 'syscall' in error; // EACCES and the like say enough
  const isExpected = isSystem || [ConfigError, ChildEnded, GivenUp, NotNow].some((kind) => error instanceof kind);
  process.stderr.write(`petstore: ${isExpected ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = 1;
}
