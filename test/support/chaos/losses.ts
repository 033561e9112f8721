/** What a fault may cost of the counts, and for how long it has effects. */
import type { Call } from './history.ts';
import type { Happened } from './schedule.ts';
import { overlap, type Span } from './windows.ts';

/** The service's promised recovery time. */
export const SETTLE_MS = 10_000;
/** How much of the day's count a killed server may lose: a second, and half a second for a write in progress. */
const LAST_SECOND_MS = 1_500;
/** A call that began before a server ended may have been counted then. */
const CLOSE_MS = 500;

/** The faults with effects in a span of time. */
export function touching(faults: readonly Happened[], span: Span): Happened[] {
  return faults.filter(({ startMs, endMs }) => overlap({ startMs, endMs: endMs + SETTLE_MS }, span));
}

/** The calls whose count may be lost because a server ended. */
export function lossesOf(ends: readonly Happened[], faults: readonly Happened[], calls: readonly Call[]): Call[] {
  const spans = ends.map(({ startMs, endMs }) => {
    const sinceMs = Math.min(startMs, unstoredSinceMs(faults, startMs)) - LAST_SECOND_MS;
    return { startMs: sinceMs, endMs: endMs + CLOSE_MS };
  });
  return calls.filter((call) => spans.some((span) => overlap(call, span)));
}

/** Counts that can't be stored are stored later. */
function unstoredSinceMs(faults: readonly Happened[], momentMs: number): number {
  const open = touching(
    faults.filter(({ touches }) => touches.includes('storage')),
    { startMs: momentMs, endMs: momentMs },
  );
  return Math.min(...open.map(({ startMs }) => startMs));
}
