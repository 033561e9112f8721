/** Keeps a test within one window of the limits, which are minutes and days of UTC. */
import { setTimeout as delay } from 'node:timers/promises';

/** Waits for the next minute if this one ends within `neededMs`. */
export const withinOneMinute = (neededMs: number) => withinOne(60_000, neededMs);

/** Waits for the next day if this one ends within `neededMs`. */
export const withinOneDay = (neededMs: number) => withinOne(86_400_000, neededMs);

async function withinOne(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await delay(leftMs + 50);
}
