/** Waits: for a condition, for a window of the limits (minutes and days of UTC), and for a turn. */
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

/** Waits for the next minute if this one ends within `neededMs`. */
export const withinOneMinute = (neededMs: number) => withinOne(60_000, neededMs);

/** Waits for the next day if this one ends within `neededMs`. */
export const withinOneDay = (neededMs: number) => withinOne(86_400_000, neededMs);

async function withinOne(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await delay(leftMs + 50);
}

/**
 * Lets a few tests of a file start processes at a time: on two cores, more would only make each other slow. The
 * returned function waits for a turn, and resolves with one that ends it.
 */
export function takeTurns(atATime: number): () => Promise<() => void> {
  let free = atATime;
  return async () => {
    while (free === 0) await delay(10);
    free -= 1;
    return () => {
      free += 1;
    };
  };
}
