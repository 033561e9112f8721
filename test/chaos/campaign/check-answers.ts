/** Checks that no response is a fault, that no valid key is refused, and that the service recovers after faults. */
import { type Call, type Evidence, timeOf, unless, type Violation } from './history.ts';

/** The service's promised recovery time: for so long a fault has effects. */
export const SETTLE_MS = 10_000;

/** The code of a 500, and gRPC statuses that a server has without a code. */
const FAULTS: readonly string[] = ['INTERNAL', 'UNKNOWN', 'DATA_LOSS', 'UNIMPLEMENTED'];

export function checkAnswers(calls: readonly Call[]): Violation[] {
  const hasCode = (codes: readonly string[]) =>
    calls.filter(({ outcome }) => outcome.kind === 'refused' && codes.includes(outcome.code));
  const [faults, invalid] = [hasCode(FAULTS), hasCode(['API_KEY_INVALID'])];
  return [
    ...unless(faults, `${faults.length} calls were answered with a fault of the server`),
    ...unless(invalid, `${invalid.length} calls were told that a valid key is not`),
  ];
}

export function checkRecovery(
  { calls, faults }: Pick<Evidence, 'calls' | 'faults'>,
  withinMs = SETTLE_MS,
): Violation[] {
  const lastMs = Math.max(0, ...faults.map(({ endMs }) => endMs));
  const failed = calls.filter(({ outcome, endMs }) => outcome.kind === 'unknown' && endMs > lastMs + withinMs);
  const when = `${withinMs / 1_000} s after the last fault, at ${timeOf(lastMs)}`;
  return unless(failed, `${failed.length} calls failed more than ${when}`);
}
