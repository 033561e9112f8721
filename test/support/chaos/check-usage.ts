/**
 * Checks that usage is the number of admitted requests. A call without a response may be counted by each server that
 * got it, a server that ends may lose the last second, and while Redis is unavailable the counts of all servers but one
 * may be lost.
 */
import { isLetThrough } from './check-limits.ts';
import type { Evidence, Violation } from './evidence.ts';
import { lossesOf, touching } from './losses.ts';

/** Envoy may send a request without a response once more. */
const MOST_TRIES = 2;

export function checkUsage({ calls, faults, usage }: Pick<Evidence, 'calls' | 'faults' | 'usage'>): Violation[] {
  return usage.flatMap(({ account, requests }) => {
    const own = calls.filter((call) => call.account === account);
    const sure = own.filter(isLetThrough);
    const unanswered = own.filter(({ outcome }) => outcome.kind === 'unknown').length;
    const ends = faults.filter(({ touches }) => touches.includes('server'));
    const away = faults.filter(({ touches }) => touches.includes('redis'));
    const alone = sure.filter((call) => touching(away, call).length > 0);
    const least = sure.length - new Set([...alone, ...lossesOf(ends, faults, sure)]).size;
    const most = sure.length + MOST_TRIES * unanswered;
    if (least <= requests && requests <= most) return [];
    const expected = least === most ? `${most}` : `${least} to ${most}`;
    return [{ title: `account ${account} has a usage of ${requests}, and ${expected} were let through`, lines: [] }];
  });
}
