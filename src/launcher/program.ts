/** The service, or an edge, in the foreground: a signal stops it, another one restarts its servers. */
import { formatAddress, toReachableHost } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { type Stack, startStack } from './stack.ts';

/** Signals this close together are one key press: both the terminal and npm send it to the launcher. */
const KEY_PRESS_MS = 500;

interface Program {
  readonly config: Config;
  readonly isEdge?: boolean;
  /** Prints or logs a line for people. */
  readonly report: (line: string) => void;
  /** What is reported when the service is open. */
  readonly startMessage: (config: Config) => string;
}

/**
 * Resolves when a signal has stopped the service: SIGINT, SIGTERM or SIGHUP (the terminal has closed). The first one
 * stops it cleanly, during the start too. A second SIGINT or SIGTERM kills it. A second SIGHUP changes nothing: a
 * terminal may send several. SIGUSR2 starts a rolling restart.
 */
export async function runInForeground({ config, isEdge = false, report, startMessage }: Program): Promise<void> {
  // Writing to a closed terminal fails. That must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const interrupt = new AbortController();
  let stack: Stack | undefined;
  let stoppingSinceMs: number | undefined;
  /** The rolling restarts that were requested and have not ended: one that runs, and one that follows it. */
  let restarts = 0;

  const stop = () => {
    if (stoppingSinceMs !== undefined) {
      if (performance.now() - stoppingSinceMs < KEY_PRESS_MS) return;
      if (stack !== undefined) for (const { process: child } of [stack.envoy, ...stack.servers]) child.kill('SIGKILL');
      process.exit(1);
    }
    stoppingSinceMs = performance.now();
    interrupt.abort();
    if (stack === undefined) return;
    report('\nStopping: open requests have 10 seconds to finish. Ctrl-C again ends them now.');
    void stack.stop();
  };
  const restart = async () => {
    if (stoppingSinceMs !== undefined || restarts === 2) return;
    if (config.instances === 1) report('A rolling restart needs INSTANCES of 2 or more: nothing was changed.');
    else if (stack === undefined) report('The service is still starting: nothing is restarted.');
    else if (++restarts === 2) report('A rolling restart is running: another one follows it.');
    else for (; restarts > 0 && stoppingSinceMs === undefined; restarts -= 1) await stack.restart();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  process.on('SIGHUP', () => {
    if (stoppingSinceMs === undefined) stop();
  });
  process.on('SIGUSR2', () => void restart());

  const { instances } = config;
  const servers = instances === 1 ? 'the server' : `${instances} servers`;
  if (!isEdge) report(`Starting ${servers} and Envoy …`); // signals work from now on

  try {
    stack = await startStack(config, {}, { isEdge, interrupt: interrupt.signal, report });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  }
  if (stack !== undefined) report(startMessage(config));
  await stack?.ended;
  report('Stopped.');
}

/** Prints a line to stdout. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The URL of the public port, for callers on this machine. */
export function publicUrl({ host, port, tls }: Config): string {
  return `${tls === undefined ? 'http' : 'https'}://${formatAddress(toReachableHost(host), port)}`;
}
