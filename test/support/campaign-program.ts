/** How a long campaign (`npm run test:hostile`, `test:chaos`) reads its numbers, is stopped by a signal, and ends. */

/** A mistake in the command line, in one line. */
export class UsageError extends Error {}

class Interrupted extends Error {}

/** @throws UsageError for what is no whole number. */
export function toCount(option: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new UsageError(`--${option} must be a whole number, not "${text}"`);
  return Number(text);
}

/** Aborted by the first signal to stop. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort(new Interrupted(`stopped by ${signal}`)));
  }
  return controller.signal;
}

/** Runs a campaign's `main` and makes its end the process's: 130 after a signal, 2 after a mistake or a fault. */
export async function runCampaign(name: string, main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const isInterrupted = error instanceof Interrupted || (error as Error).name === 'AbortError';
    const isMistake =
      error instanceof UsageError || String((error as { code?: string }).code).startsWith('ERR_PARSE_ARGS');
    const text = isInterrupted || isMistake ? (error as Error).message : (error as Error).stack;
    process.stderr.write(`${name}: ${text}\n`);
    process.exitCode = isInterrupted ? 130 : 2;
  }
}
