/**
 * Checks that no account had more requests admitted than its limit, and that none was refused below it.
 *
 * Only requests that began and ended within a window are counted in it. The only tolerances are the ones that
 * docs/failures.md states:
 * - While Redis is unavailable each server continues from its last known count: N servers admit N times the rest.
 * - A server that counts in memory and ends starts a new minute, and loses the last second of its day's count.
 * - A clock jump costs one window, and so does the jump back.
 */
import type { ChaosAccount } from './accounts.ts';
import { timeOf } from './check-objects.ts';
import type { Evidence, Violation } from './evidence.ts';
import { type Call, isTurnedAway } from './history.ts';
import { lossesOf, SETTLE_MS, touching } from './losses.ts';
import type { Happened } from './schedule.ts';
import { DAY_MS, isWithin, MINUTE_MS, overlap, type Span, windowAt } from './windows.ts';

export type LimitsEvidence = Pick<Evidence, 'servers' | 'calls' | 'faults' | 'accounts'>;

export function checkLimits(evidence: LimitsEvidence): Violation[] {
  return evidence.accounts.flatMap((account) => {
    const calls = evidence.calls.filter((call) => call.account === account.name);
    return [
      ...tooMany(evidence, account, calls, { name: 'minute', lengthMs: MINUTE_MS, limit: account.perMinute }),
      ...tooMany(evidence, account, calls, { name: 'day', lengthMs: DAY_MS, limit: account.perDay }),
      ...tooFew(evidence, account, calls),
    ];
  });
}

interface WindowKind {
  readonly name: 'minute' | 'day';
  readonly lengthMs: number;
  readonly limit: number;
}

function tooMany(
  evidence: LimitsEvidence,
  account: ChaosAccount,
  calls: readonly Call[],
  kind: WindowKind,
): Violation[] {
  const starts = new Set(calls.map(({ startMs }) => windowAt(startMs, kind.lengthMs).startMs));
  return [...starts].flatMap((startMs) => {
    const window = windowAt(startMs, kind.lengthMs);
    const passed = calls.filter((call) => isLetThrough(call) && isWithin(call, window));
    const allowed = allowedIn(evidence, window, kind, passed, calls);
    if (passed.length <= allowed) return [];
    const faults = touching(evidence.faults, window).map(({ what, startMs: at }) => `${timeOf(at)} ${what}`);
    const title = `account ${account.name} was let through ${passed.length} times in the ${kind.name} from ${timeOf(
      window.startMs,
    )}, of at most ${allowed} (limit ${kind.limit})`;
    return [{ title, lines: faults }];
  });
}

/** Whether the service has certainly counted the call. */
export function isLetThrough({ outcome }: Call): boolean {
  return outcome.kind === 'ok' || (outcome.kind === 'refused' && !isTurnedAway(outcome));
}

function allowedIn(
  { servers, faults }: LimitsEvidence,
  window: Span,
  { name, limit }: WindowKind,
  passed: readonly Call[],
  calls: readonly Call[],
): number {
  const inWindow = touching(faults, window);
  const away = inWindow.filter(({ touches }) => touches.includes('redis'));
  const jumps = inWindow.filter(({ touches }) => touches.includes('clock'));
  const ends = inWindow.filter(({ touches }) => touches.includes('server'));
  const awayFromMs = Math.min(...away.map(({ startMs }) => startMs));
  const before = passed.filter(({ endMs }) => endMs < awayFromMs).length;
  const alone = away.length === 0 ? limit : before + servers * (limit - before);
  // With Redis available, a server that ends loses no count.
  const forgetting =
    servers === 1 ? ends : ends.filter((end) => away.some((one) => overlap(widened(one), widened(end))));
  const lost = name === 'minute' ? forgetting.length * limit : lossesOf(forgetting, faults, calls).length;
  return alone + lost + 2 * jumps.length * limit;
}

function widened({ startMs, endMs }: Span): Span {
  return { startMs, endMs: endMs + SETTLE_MS };
}

/** The share of a limit that must be admitted before a request may be refused. */
const LEAST_SHARE = 0.99;

/** Refusals below the limit. A request without a response may have been counted, so it counts here. */
function tooFew({ faults }: LimitsEvidence, account: ChaosAccount, calls: readonly Call[]): Violation[] {
  const counted = calls.filter((call) => !isTurnedAway(call.outcome));
  const isEarly = (call: Call, lengthMs: number, limit: number) => {
    const windows = [windowAt(call.startMs, lengthMs), windowAt(call.endMs, lengthMs)];
    return windows.every((window) => {
      const isDisturbed = touching(faults, window).some(isInexact);
      const before = counted.filter((one) => one.startMs < call.endMs && overlap(one, window)).length;
      return !isDisturbed && before < LEAST_SHARE * limit;
    });
  };
  const early = calls.filter(
    (call) =>
      call.outcome.kind === 'refused' &&
      call.outcome.code === 'RATE_LIMITED' &&
      isEarly(call, MINUTE_MS, account.perMinute) &&
      isEarly(call, DAY_MS, account.perDay),
  );
  const [first] = early;
  if (first === undefined) return [];
  const times = `${early.length} times with requests left, first at ${timeOf(first.startMs)}`;
  const title = `account ${account.name} was refused ${times}`;
  return [{ title, lines: [] }];
}

/** Whether requests may be counted twice, or in the wrong minute. */
function isInexact({ touches }: Happened): boolean {
  return touches.includes('redis') || touches.includes('clock');
}
