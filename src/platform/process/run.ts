/** What all programs have in common: how they read the settings, and how they fail. */
import { NAME } from '../../identity.ts';
import { hideKeys } from '../access/keys/format.ts';
import { type Config, ConfigError, ExpectedError, readConfig, TemporaryFailure } from '../config/config.ts';
import { isDiskFull, PRIVATE_UMASK } from '../files/private-folder.ts';

/** The exit code of a failure that may pass by itself: `EX_TEMPFAIL` in BSD's sysexits.h. */
const EXIT_TEMPORARY_FAILURE = 75;

const HELP = 'There are no arguments. All settings are environment variables: docs/settings.md lists them.\n';

/** Signals this close together are one key press: both the terminal and npm send it. */
const KEY_PRESS_MS = 500;

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What a server tells its launcher before it ends. */
export interface Failure {
  readonly reason: string;
  readonly isTemporary: boolean;
}

/** What a server tells its launcher every few seconds while it migrates: the name of the migration. */
export interface Progress {
  readonly migrating: string;
}

export async function run(main: (config: Config) => Promise<void>): Promise<void> {
  process.umask(PRIVATE_UMASK);
  try {
    if (process.argv[2] === '--help') return void process.stdout.write(HELP);
    if (process.argv.length > 2) throw new ConfigError('there are no arguments, only settings: see docs/settings.md');
    await main(readConfig());
  } catch (error) {
    fail(error);
  }
}

/** Calls `stop` at the first signal, and `kill` at a second one, but for SIGHUP: a terminal may send several. */
export function onStopSignals(stop: (signal: string) => void, kill: () => void): void {
  let stoppedMs: number | undefined;
  for (const signal of STOP_SIGNALS) {
    process.removeAllListeners(signal).on(signal, () => {
      const isFirst = stoppedMs === undefined;
      stoppedMs ??= performance.now();
      if (isFirst) stop(signal);
      else if (signal !== 'SIGHUP' && performance.now() - stoppedMs > KEY_PRESS_MS) kill();
    });
  }
}

/** Ends the process, and says why: an expected error in one line. */
export function fail(error: unknown): void {
  const reason = hideKeys(describe(error));
  const isTemporary = error instanceof TemporaryFailure || isDiskFull(error);
  process.stderr.on('error', () => undefined).write(`${NAME}: ${reason}\n`); // the terminal may be closed
  const exit = () => process.exit(isTemporary ? EXIT_TEMPORARY_FAILURE : 1); // a failed start may leave handles open
  if (process.connected) process.send?.({ reason, isTemporary } satisfies Failure, exit);
  else exit();
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isSystem = 'syscall' in error; // the message of EACCES and others is clear
  return error instanceof ExpectedError || isSystem ? error.message : String(error.stack);
}
