/**
 * The time that the limits use: the wall clock's, without its jumps.
 *
 * Time advances by the monotonic clock, from the wall clock's reading at the start. Differences of up to a second are
 * corrected at once. A larger one is ignored as a wrong reading, until it has lasted for a minute: then the wall clock
 * has been set, and is followed. So a jump goes unnoticed, or costs one window.
 */
const TOLERANCE_MS = 1_000;
const CONFIRM_MS = 60_000;

/** Returns a function that gives the time, in Unix milliseconds. */
export function steadyClock(wallMs = Date.now, monotonicMs = () => performance.now()): () => number {
  let offsetMs = wallMs() - monotonicMs();
  /** The offset that the wall clock has jumped to, and since when. */
  let jump = { offsetMs, sinceMs: monotonicMs() };

  return () => {
    const elapsedMs = monotonicMs();
    const readMs = wallMs() - elapsedMs;
    if (Math.abs(readMs - jump.offsetMs) > TOLERANCE_MS) jump = { offsetMs: readMs, sinceMs: elapsedMs };
    const isSmall = Math.abs(readMs - offsetMs) <= TOLERANCE_MS;
    if (isSmall || elapsedMs - jump.sinceMs >= CONFIRM_MS) offsetMs = readMs;
    return Math.floor(elapsedMs + offsetMs);
  };
}
