/**
 * Usage equals what was let through. A call without an answer may have been counted, on each server that it was sent to.
 * A server that ends may take the last second with it; while Redis is away a request whose answer was lost may
 * count twice.
 */
import { isLetThrough } from './check-limits.ts';
import type { Evidence, Violation } from './evidence.ts';
import { lossesOf, touching } from './losses.ts';

/** Envoy may send what was not answered once more. */
const MOST_TRIES = 2;

export function checkUsage({ calls, faults, usage }: Pick<Evidence, 'calls' | 'faults' | 'usage'>): Violation[] {
  return usage.flatMap(({ account, requests }) => {
    const own = calls.filter((call) => call.account === account);
    const sure = own.filter(isLetThrough);
    const unanswered = own.filter(({ outcome }) => outcome.kind === 'unknown').length;
    const ends = faults.filter(({ touches }) => touches.includes('server'));
    const away = faults.filter(({ touches }) => touches.includes('redis'));
    const twice = own.filter((call) => touching(away, call).length > 0).length;
    const least = sure.length - lossesOf(ends, faults, sure).length;
    const most = sure.length + MOST_TRIES * unanswered + twice;
    if (least <= requests && requests <= most) return [];
    const expected = least === most ? `${most}` : `${least} to ${most}`;
    return [{ title: `account ${account} has a usage of ${requests}, and ${expected} were let through`, lines: [] }];
  });
}
