/** How a benchmark ends: by itself, by a signal, or with an error that is one clear line. */
import { ConfigError } from '../src/config.ts';
import { LoadFailed } from './load.ts';
import { Broken } from './logs.ts';
import { UsageError } from './options.ts';

class Interrupted extends Error {
  override name = 'Interrupted';
}

/** Aborted by the first signal to stop. Later ones change nothing: cleaning up has bounds of its own. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort(new Interrupted(`stopped by ${signal}`)));
  }
  return controller.signal;
}

export async function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Runs a benchmark's `main` and makes its end the process's. */
export async function runAsProgram(name: string, main: () => Promise<void>): Promise<void> {
  // A reader that has gone (a closed terminal, "| head") must not end this before it has cleaned up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${name}: ${describe(error)}\n`);
    process.exitCode = error instanceof Interrupted ? 130 : 1;
  }
}

function describe(error: unknown): string {
  const isExpected = [UsageError, ConfigError, Broken, LoadFailed, Interrupted].some((kind) => error instanceof kind);
  return error instanceof Error && !isExpected ? (error.stack ?? error.message) : String((error as Error).message);
}
