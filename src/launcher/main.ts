/**
 * `npm start`: brings the service up, says how to use it, and stops it cleanly on Ctrl-C or when the terminal is closed.
 * `kill -HUP` restarts the servers one after the other.
 */
import { type Config, readConfig } from '../config.ts';
import { printLine, run, StopSignals } from './program.ts';
import { type Stack, startStack } from './stack.ts';
import { startMessage } from './start-message.ts';
import { Terminal } from './terminal.ts';

const terminal = new Terminal();
let stack: Stack | undefined;
/** Of one that is under way. */
let restart: { isWantedAgain: boolean } | undefined;

async function main(): Promise<void> {
  const config = readConfig();
  const signals = new StopSignals(printLine);
  process.on('SIGHUP', () => hangUp(config, signals));
  const { instances } = config;
  printLine(instances === 1 ? 'Starting the server and Envoy …' : `Starting ${instances} servers and Envoy …`);
  stack = await startStack(config, {}, { interrupt: signals.interrupt, report: printLine });
  signals.started(stack);
  printLine(startMessage(config));
  await stack.ended;
  printLine('Stopped.');
}

/** A terminal that is closed says it with the same signal, more than once at times. */
function hangUp({ instances }: Config, signals: StopSignals): void {
  if (signals.isStopping) return;
  if (terminal.hasHungUp()) signals.stop();
  else if (instances === 1) printLine('A rolling restart needs INSTANCES of 2 or more: nothing was changed.');
  else if (stack === undefined) printLine('The service is only just starting: nothing is restarted.');
  else if (restart === undefined) void restartAll(stack, signals);
  else if (!restart.isWantedAgain) {
    restart.isWantedAgain = true;
    printLine('A rolling restart is under way: another one follows it.');
  }
}

async function restartAll(running: Stack, signals: StopSignals): Promise<void> {
  do {
    restart = { isWantedAgain: false };
    await running.restart();
  } while (restart.isWantedAgain && !signals.isStopping);
  restart = undefined;
}

await run(main);
