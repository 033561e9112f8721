/** Keeps a test within one window of the limits, which are minutes and days of UTC. */
import { setTimeout as delay } from 'node:timers/promises';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Waits for the next minute if this one ends within `neededMs`. */
export function withinOneMinute(neededMs: number): Promise<void> {
  return withinOne(MINUTE_MS, neededMs);
}

/** Waits for the next day if this one ends within `neededMs`. */
export function withinOneDay(neededMs: number): Promise<void> {
  return withinOne(DAY_MS, neededMs);
}

async function withinOne(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await delay(leftMs + 50);
}
