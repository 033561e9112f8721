/** Waits for a condition by polling. */
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/** Resolves with the first truthy value of `look`. Rejects after `giveUpMs`, with `what` in the message. */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string,
  giveUpMs = 30_000,
): Promise<Exclude<T, null | undefined | false>> {
  const giveUpAtMs = performance.now() + giveUpMs;
  for (;;) {
    const value = await look();
    if (value) return value as Exclude<T, null | undefined | false>;
    if (performance.now() > giveUpAtMs) throw new Error(`${what} did not come in ${giveUpMs / 1_000} s`);
    await delay(POLL_MS);
  }
}
