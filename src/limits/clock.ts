/**
 * The time that requests are judged by: the wall clock's, without its jumps.
 *
 * Time goes on by the monotonic clock, from what the wall clock said at the start. Small differences are taken up at
 * once. A larger one is first taken for a wrong reading; when the wall clock insists for a minute, it has been set, and
 * is followed. So a jump is not noticed at all, or costs one window.
 */
const TOLERANCE_MS = 1_000;
const SETTLE_MS = 60_000;

/** A function that gives the time, in Unix milliseconds. */
export function steadyClock(wallMs = Date.now, monotonicMs = () => performance.now()): () => number {
  let offsetMs = wallMs() - monotonicMs();
  /** The offset that the wall clock has jumped to, and since when. */
  let jump = { offsetMs, sinceMs: monotonicMs() };

  return () => {
    const elapsedMs = monotonicMs();
    const readMs = wallMs() - elapsedMs;
    if (Math.abs(readMs - jump.offsetMs) > TOLERANCE_MS) jump = { offsetMs: readMs, sinceMs: elapsedMs };
    const isSmall = Math.abs(readMs - offsetMs) <= TOLERANCE_MS;
    if (isSmall || elapsedMs - jump.sinceMs >= SETTLE_MS) offsetMs = readMs;
    return Math.floor(elapsedMs + offsetMs);
  };
}
