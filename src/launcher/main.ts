/**
 * `npm start`: starts the service, prints how to use it, and stops it cleanly on Ctrl-C, on SIGTERM and when the
 * terminal closes (SIGHUP). SIGUSR2 starts a rolling restart.
 */
import type { Config } from '../config.ts';
import { loadConfig } from './command.ts';
import { printLine, run, StopSignals } from './program.ts';
import { checkNoStandaloneSettings, type Stack, startStack } from './stack.ts';
import { startMessage } from './start-message.ts';

let stack: Stack | undefined;
/** The rolling restarts that were requested and have not ended: one that runs, and one that follows it. */
let restarts = 0;

async function main(): Promise<void> {
  const config = loadConfig();
  checkNoStandaloneSettings(config);
  const signals = new StopSignals(printLine);
  process.on('SIGUSR2', () => requestRestart(config, signals));
  const { instances } = config;
  printLine(instances === 1 ? 'Starting the server and Envoy …' : `Starting ${instances} servers and Envoy …`);
  stack = await startStack(config, {}, { interrupt: signals.interrupt, report: printLine });
  signals.started(stack);
  printLine(startMessage(config));
  await stack.ended;
  printLine('Stopped.');
}

function requestRestart({ instances }: Config, signals: StopSignals): void {
  if (signals.isStopping) return;
  if (instances === 1) printLine('A rolling restart needs INSTANCES of 2 or more: nothing was changed.');
  else if (stack === undefined) printLine('The service is still starting: nothing is restarted.');
  else if (restarts === 2) return;
  else if (++restarts === 1) void restartAll(stack, signals);
  else printLine('A rolling restart is running: another one follows it.');
}

async function restartAll(running: Stack, signals: StopSignals): Promise<void> {
  for (; restarts > 0 && !signals.isStopping; restarts -= 1) await running.restart();
}

await run(main);
