/** What a fault may cost of what was counted, and for how long it is felt. */
import type { Call } from './history.ts';
import type { Happened } from './schedule.ts';
import { overlap, type Span } from './windows.ts';

/** Everything is well again so long after a fault, by the service's own promise. */
export const SETTLE_MS = 10_000;
/** Of a server that is killed so much of the day's count may be lost; half a second more for a write under way. */
const LAST_SECOND_MS = 1_500;
/** A call that began before the end of a server may have been counted just then. */
const CLOSE_MS = 500;

/** The faults that were felt in a span. */
export function touching(faults: readonly Happened[], span: Span): Happened[] {
  return faults.filter(({ startMs, endMs }) => overlap({ startMs, endMs: endMs + SETTLE_MS }, span));
}

/** The calls whose counting may have been lost because servers have ended. */
export function lossesOf(ends: readonly Happened[], faults: readonly Happened[], calls: readonly Call[]): Call[] {
  const spans = ends.map(({ startMs, endMs }) => {
    const sinceMs = Math.min(startMs, unstoredSinceMs(faults, startMs)) - LAST_SECOND_MS;
    return { startMs: sinceMs, endMs: endMs + CLOSE_MS };
  });
  return calls.filter((call) => spans.some((span) => overlap(call, span)));
}

/** What is counted while nothing can be stored is stored when it can be. */
function unstoredSinceMs(faults: readonly Happened[], momentMs: number): number {
  const open = touching(
    faults.filter(({ touches }) => touches.includes('storage')),
    { startMs: momentMs, endMs: momentMs },
  );
  return Math.min(...open.map(({ startMs }) => startMs));
}
