/** Common code of the programs that start others: output, signals and errors. */
import { ConfigError } from '../config.ts';
import { PRIVATE_UMASK } from '../files/private-folder.ts';
import { ChildExited } from './child.ts';
import { Interrupted, type Stack } from './stack.ts';
import { TemporaryFailure, TooManyFailures } from './supervisor.ts';

/** Signals this close together are one key press: both the terminal and npm send it to the launcher. */
const KEY_PRESS_MS = 500;

/**
 * Stops the program on SIGINT, SIGTERM and SIGHUP (the terminal has closed). The first signal stops it cleanly, during
 * the start too. A second SIGINT or SIGTERM kills it. A second SIGHUP changes nothing: a terminal may send several.
 */
export class StopSignals {
  readonly #interrupt = new AbortController();
  readonly #report: (line: string) => void;
  #running: Stack | undefined;
  /** When the first signal came. */
  #sinceMs: number | undefined;

  constructor(report: (line: string) => void) {
    this.#report = report;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => this.#stop());
    process.on('SIGHUP', () => {
      if (!this.isStopping) this.#stop();
    });
  }

  /** Aborted by a signal during the start. */
  get interrupt(): AbortSignal {
    return this.#interrupt.signal;
  }

  get isStopping(): boolean {
    return this.#sinceMs !== undefined;
  }

  /** Call this when the start has completed. */
  started(running: Stack): void {
    this.#running = running;
  }

  #stop(): void {
    if (this.#sinceMs !== undefined) {
      if (performance.now() - this.#sinceMs < KEY_PRESS_MS) return;
      if (this.#running !== undefined) {
        for (const { process: child } of [this.#running.envoy, ...this.#running.servers]) child.kill('SIGKILL');
      }
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

/** Prints a line to stdout. */
export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs a program. Prints an expected error as one line, any other with its stack. */
export async function run(main: () => Promise<void>): Promise<void> {
  // Writing to a closed terminal fails. That must not end the process.
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
  const isSystem = error instanceof Error && 'syscall' in error; // the message of EACCES and others is clear
  const isExpected =
    isSystem || [ConfigError, ChildExited, TooManyFailures, TemporaryFailure].some((kind) => error instanceof kind);
  process.stderr.write(`petstore: ${isExpected ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = 1;
}
