/** What the launcher does again and again until it stops. */
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after a time, or on shutdown. */
export async function pause(ms: number, shutdown: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: shutdown }).catch(() => undefined);
}

/** Runs a task until shutdown, with a pause after each time. */
export async function repeat(pauseMs: number, shutdown: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!shutdown.aborted) {
    await task();
    await pause(pauseMs, shutdown);
  }
}
