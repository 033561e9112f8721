/**
 * Checks that each response is in time and none is a fault, that no valid key is refused, and that the service recovers
 * after faults.
 */
import { timeOf } from './check-objects.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { Call } from './history.ts';

/** Envoy ends a call after 15 seconds. */
const LONGEST_MS = 20_000;
/** The code of a 500, and gRPC statuses that a server has without a code. */
const FAULTS: readonly string[] = ['INTERNAL', 'UNKNOWN', 'DATA_LOSS', 'UNIMPLEMENTED'];

export function checkAnswers(calls: readonly Call[]): Violation[] {
  const late = calls.filter(({ startMs, endMs }) => endMs - startMs > LONGEST_MS);
  const faults = calls.filter(({ outcome }) => outcome.kind === 'refused' && FAULTS.includes(outcome.code));
  const shut = calls.filter(({ outcome }) => outcome.kind === 'refused' && outcome.code.startsWith('API_KEY_INVALID'));
  return [
    ...first(late, `took more than ${LONGEST_MS / 1_000} s`),
    ...first(faults, 'were answered with a fault of the server'),
    ...first(shut, 'were told that a valid key is not'),
  ];
}

function first(calls: readonly Call[], what: string): Violation[] {
  if (calls.length === 0) return [];
  return [{ title: `${calls.length} calls ${what}`, lines: calls.slice(0, 3).map((call) => JSON.stringify(call)) }];
}

/** The time from the last fault to the last failed call; 0 when no call failed after it. */
export function recoveryMs({ calls, faults }: Pick<Evidence, 'calls' | 'faults'>): number {
  const lastFaultMs = Math.max(0, ...faults.map(({ endMs }) => endMs));
  const failed = calls.filter(({ outcome, endMs }) => outcome.kind === 'unknown' && endMs > lastFaultMs);
  return Math.max(0, ...failed.map(({ endMs }) => endMs - lastFaultMs));
}

export function checkRecovery(evidence: Pick<Evidence, 'calls' | 'faults'>, withinMs: number): Violation[] {
  const { calls, faults } = evidence;
  const tookMs = recoveryMs(evidence);
  if (tookMs <= withinMs) return [];
  const lastFault = faults.toSorted((one, other) => one.endMs - other.endMs).at(-1);
  const since = calls.filter(({ outcome, endMs }) => outcome.kind === 'unknown' && endMs > (lastFault?.endMs ?? 0));
  const lines = since.slice(-3).map((call) => JSON.stringify(call));
  const fault = `${lastFault?.what}, until ${timeOf(lastFault?.endMs ?? 0)}`;
  const title = `${tookMs.toFixed()} ms after the last fault (${fault}) a call failed`;
  return [{ title, lines }];
}
