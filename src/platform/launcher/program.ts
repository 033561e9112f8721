/** The service, or an edge, in the foreground: a signal stops it, another one restarts its servers. */
import { NAME } from '../../identity.ts';
import { formatAddress, toReachableHost } from '../config/checks.ts';
import type { Config } from '../config/config.ts';
import { version } from '../config/constants.ts';
import { onStopSignals } from '../process/run.ts';
import { type Stack, startStack } from './stack.ts';

interface Program {
  readonly config: Config;
  readonly isEdge?: boolean;
  readonly report: (line: string) => void;
  readonly startMessage: (config: Config) => string;
}

/** Resolves when a signal has stopped the service, also during its start. A second signal kills it. */
export async function runInForeground({ config, isEdge = false, report, startMessage }: Program): Promise<void> {
  // Writing to a closed terminal fails. That must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const interrupt = new AbortController();
  let stack: Stack | undefined;
  /** The rolling restarts that were requested and have not ended: one that runs, and one that follows it. */
  let restarts = 0;

  const stop = () => {
    interrupt.abort();
    if (stack === undefined) return;
    report('\nStopping: open requests have 10 seconds to finish. Ctrl-C again ends them now.');
    void stack.stop();
  };
  const kill = () => {
    for (const { process: child } of stack === undefined ? [] : [stack.envoy, ...stack.servers]) child.kill('SIGKILL');
    process.exit(1);
  };
  const restart = async () => {
    if (interrupt.signal.aborted || restarts === 2) return;
    if (config.instances === 1) report('A rolling restart needs INSTANCES of 2 or more: nothing was changed.');
    else if (stack === undefined) report('The service is still starting: nothing is restarted.');
    else if (++restarts === 2) report('A rolling restart is running: another one follows it.');
    else for (; restarts > 0 && !interrupt.signal.aborted; restarts -= 1) await stack.restart();
  };
  onStopSignals(stop, kill);
  process.on('SIGUSR2', () => void restart());

  const { instances } = config;
  const servers = instances === 1 ? 'the server' : `${instances} servers`;
  report(`${NAME} ${version()}: starting ${isEdge ? 'Envoy' : `${servers} and Envoy`} …`); // signals work from now on

  try {
    stack = await startStack(config, {}, { isEdge, interrupt: interrupt.signal, report });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  }
  if (stack !== undefined) report(startMessage(config));
  await stack?.ended;
  report('Stopped.');
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The URL of the public port, for callers on this machine. */
export function publicUrl({ host, port, tls }: Config): string {
  return `${tls === undefined ? 'http' : 'https'}://${formatAddress(toReachableHost(host), port)}`;
}
