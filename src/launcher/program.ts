/** What the programs that start others have in common: lines for people, the end by a signal, the end by an error. */
import { ConfigError } from '../config.ts';
import { PRIVATE_UMASK } from '../files/private-folder.ts';
import { type Child, ChildExited } from './child.ts';
import { Interrupted } from './startup.ts';
import { TemporaryFailure, TooManyFailures } from './supervisor.ts';

/** Signals so close together are one key press: the terminal sends it to the launcher, and so does npm. */
const ONE_PRESS_MS = 500;

/** What a program has started. */
interface Running {
  /** The processes of this moment. */
  readonly children: readonly Child[];
  stop(): Promise<void>;
}

/**
 * Stops the program on SIGINT, SIGTERM and SIGHUP (the terminal has closed). The first signal stops it cleanly, during
 * the start too. A second SIGINT or SIGTERM kills it. A second SIGHUP changes nothing: a terminal may send several.
 */
export class StopSignals {
  readonly #interrupt = new AbortController();
  readonly #report: (line: string) => void;
  #running: Running | undefined;
  /** When the first came; undefined until then. */
  #sinceMs: number | undefined;

  constructor(report: (line: string) => void) {
    this.#report = report;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.#stop());
    process.on('SIGHUP', () => {
      if (!this.isStopping) this.#stop();
    });
  }

  /** Aborted by one that comes amid the start. */
  get interrupt(): AbortSignal {
    return this.#interrupt.signal;
  }

  get isStopping(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** To be called when the start is over. */
  started(running: Running): void {
    this.#running = running;
  }

  #stop(): void {
    if (this.#sinceMs !== undefined) {
      if (performance.now() - this.#sinceMs < ONE_PRESS_MS) return;
      for (const { process: child } of this.#running?.children ?? []) child.kill('SIGKILL');
      process.exit(1);
    }
    this.#sinceMs = performance.now();
    if (this.#running === undefined) {
      this.#interrupt.abort();
    } else {
      this.#report('\nStopping: open requests have 10 seconds to finish. Ctrl-C again ends them now.');
      void this.#running.stop();
    }
  }
}

/** A line on stdout. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a program to its end, which is one line when it is an error that was to be expected. */
export async function run(main: () => Promise<void>): Promise<void> {
  // A terminal that is gone takes no more words; that must not be the end.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.umask(PRIVATE_UMASK);
  try {
    await main();
  } catch (error) {
    if (error instanceof Interrupted) printLine('Stopped.');
    else fail(error);
  }
}

function fail(error: unknown): void {
  const isSystem = error instanceof Error && 'syscall' in error; // EACCES and the like say enough
  const isExpected =
    isSystem || [ConfigError, ChildExited, TooManyFailures, TemporaryFailure].some((kind) => error instanceof kind);
  process.stderr.write(`petstore: ${isExpected ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = 1;
}
