/** What the launcher does again and again, until it stops or a condition is met. */
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 50;

export async function pause(ms: number, shutdown: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: shutdown }).catch(() => undefined);
}

export async function repeat(pauseMs: number, shutdown: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!shutdown.aborted) {
    await task();
    await pause(pauseMs, shutdown);
  }
}

/** Polls a condition. Resolves with whether it was met in time. Rejects when the signal is aborted. */
export async function waitFor(
  condition: () => boolean | undefined | Promise<boolean | undefined>,
  withinMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > giveUpAtMs) return false;
    await delay(POLL_MS, undefined, { signal });
  }
  return true;
}
