/**
 * Checks that each response is in time and none is a fault, that no valid key is refused, and that the service recovers
 * after faults.
 */
import { SETTLE_MS } from './check-counts.ts';
import { type Call, type Evidence, timeOf, type Violation } from './history.ts';

/** Envoy ends a call after 15 seconds. */
const LONGEST_MS = 20_000;
/** The code of a 500, and gRPC statuses that a server has without a code. */
const FAULTS: readonly string[] = ['INTERNAL', 'UNKNOWN', 'DATA_LOSS', 'UNIMPLEMENTED'];

export function checkAnswers(calls: readonly Call[]): Violation[] {
  const hasCode = (codes: readonly string[]) =>
    calls.filter(({ outcome }) => outcome.kind === 'refused' && codes.includes(outcome.code));
  const late = calls.filter(({ startMs, endMs }) => endMs - startMs > LONGEST_MS);
  return [
    ...unless(late, `took more than ${LONGEST_MS / 1_000} s`),
    ...unless(hasCode(FAULTS), 'were answered with a fault of the server'),
    ...unless(hasCode(['API_KEY_INVALID']), 'were told that a valid key is not'),
  ];
}

/** A violation unless there are none of these. */
function unless(calls: readonly Call[], what: string): Violation[] {
  if (calls.length === 0) return [];
  return [{ title: `${calls.length} calls ${what}`, lines: calls.slice(-3).map((call) => JSON.stringify(call)) }];
}

export function checkRecovery({ calls, faults }: Evidence, withinMs = SETTLE_MS): Violation[] {
  const lastMs = Math.max(0, ...faults.map(({ endMs }) => endMs));
  const failed = calls.filter(({ outcome, endMs }) => outcome.kind === 'unknown' && endMs > lastMs + withinMs);
  return unless(failed, `failed more than ${withinMs / 1_000} s after the last fault, at ${timeOf(lastMs)}`);
}
