/**
 * Checks that no response is a fault, that no valid key is refused, that the service recovers after faults, and the
 * limits. The only tolerances are the ones that docs/failures.md states:
 * - While Redis is unavailable each server continues from its last known count: N servers admit N times the rest.
 * - A server that counts in memory and ends starts a new minute, and loses the last second of its day's count.
 * - A call without a response may be counted by each server that got it.
 */
import type { Touches } from './faults.ts';
import {
  type Call,
  type ChaosAccount,
  type Evidence,
  type Happened,
  isTurnedAway,
  timeOf,
  unless,
  type Violation,
} from './history.ts';

/** The service's promised recovery time: for so long a fault has effects. */
export const SETTLE_MS = 10_000;
/** How much of the day's count a killed server may lose: a second, and half a second for a write in progress. */
const LAST_SECOND_MS = 1_500;
/** A call that began before a server ended may have been counted then. */
const CLOSE_MS = 500;
/** The share of a limit that must be admitted before a request may be refused. */
const LEAST_SHARE = 0.99;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** The window of a time, by the true clock. */
function windowAt(momentMs: number, lengthMs: number): Span {
  const startMs = Math.floor(momentMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

function overlap(one: Span, other: Span): boolean {
  return one.startMs <= other.endMs && other.startMs <= one.endMs;
}

const widened = ({ startMs, endMs }: Span): Span => ({ startMs, endMs: endMs + SETTLE_MS });

/** The faults with effects in a span of time. */
function touching(faults: readonly Happened[], span: Span, what: Touches): Happened[] {
  return faults.filter(({ touches, ...one }) => touches.includes(what) && overlap(widened(one), span));
}

/** The calls whose count may be lost because servers ended. Counts that can't be stored are stored later. */
function lossesOf(ends: readonly Happened[], faults: readonly Happened[], calls: readonly Call[]): Call[] {
  const spans = ends.map(({ startMs, endMs }) => {
    const unstored = touching(faults, { startMs, endMs: startMs }, 'storage');
    const sinceMs = Math.min(startMs, ...unstored.map((fault) => fault.startMs)) - LAST_SECOND_MS;
    return { startMs: sinceMs, endMs: endMs + CLOSE_MS };
  });
  return calls.filter((call) => spans.some((span) => overlap(call, span)));
}

/** Whether the service has certainly counted the call. */
function isLetThrough({ outcome }: Call): boolean {
  return outcome.kind !== 'unknown' && !isTurnedAway(outcome);
}

/** Checks that no account had more requests admitted than its limit, and that none was refused below it. */
export function checkLimits(evidence: Evidence): Violation[] {
  return evidence.accounts.flatMap((account) => {
    const calls = evidence.calls.filter((call) => call.account === account.name);
    return [
      ...tooMany(evidence, calls, MINUTE_MS, account.perMinute),
      ...tooMany(evidence, calls, DAY_MS, account.perDay),
      ...tooFew(evidence, calls, account),
    ].map(({ title, lines }) => ({ title: `account ${account.name} ${title}`, lines }));
  });
}

/** Only requests that began and ended within a window are counted in it. */
function tooMany(evidence: Evidence, calls: readonly Call[], lengthMs: number, limit: number): Violation[] {
  const starts = new Set(calls.map(({ startMs }) => windowAt(startMs, lengthMs).startMs));
  return [...starts].flatMap((startMs) => {
    const window = windowAt(startMs, lengthMs);
    const passed = calls.filter((call) => isLetThrough(call) && startMs <= call.startMs && call.endMs < window.endMs);
    const allowed = allowedIn(evidence, window, limit, passed, calls);
    if (passed.length <= allowed) return [];
    const length = lengthMs === DAY_MS ? 'day' : 'minute';
    const title = `was let through ${passed.length} times in the ${length} from ${timeOf(startMs)}, not ${allowed}`;
    return [{ title, lines: [] }];
  });
}

function allowedIn(
  { servers, faults }: Evidence,
  window: Span,
  limit: number,
  passed: readonly Call[],
  calls: readonly Call[],
): number {
  const away = touching(faults, window, 'redis');
  const awayFromMs = Math.min(...away.map(({ startMs }) => startMs));
  const before = passed.filter(({ endMs }) => endMs < awayFromMs).length;
  const alone = away.length === 0 ? limit : before + servers * (limit - before);
  const ends = touching(faults, window, 'server');
  // With Redis available, a server that ends loses no count.
  const forgetting =
    servers === 1 ? ends : ends.filter((end) => away.some((one) => overlap(widened(one), widened(end))));
  const isDay = window.endMs - window.startMs === DAY_MS;
  const lost = isDay ? lossesOf(forgetting, faults, calls).length : forgetting.length * limit;
  return alone + lost;
}

/** Refusals below the limit. A request without a response may have been counted, so it counts here. */
function tooFew({ faults }: Evidence, calls: readonly Call[], { perMinute, perDay }: ChaosAccount): Violation[] {
  const counted = calls.filter((call) => !isTurnedAway(call.outcome));
  const isEarly = ({ startMs, endMs }: Call, lengthMs: number, limit: number) =>
    [windowAt(startMs, lengthMs), windowAt(endMs, lengthMs)].every((window) => {
      const mayCountTwice = touching(faults, window, 'redis').length > 0;
      const before = counted.filter((one) => one.startMs < endMs && overlap(one, window)).length;
      return !mayCountTwice && before < LEAST_SHARE * limit;
    });
  const early = calls.filter(
    (call) =>
      call.outcome.kind === 'refused' &&
      call.outcome.code === 'RATE_LIMITED' &&
      isEarly(call, MINUTE_MS, perMinute) &&
      isEarly(call, DAY_MS, perDay),
  );
  return unless(early, `was refused ${early.length} times with requests left`);
}

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

export function checkRecovery({ calls, faults }: Evidence, withinMs = SETTLE_MS): Violation[] {
  const lastMs = Math.max(0, ...faults.map(({ endMs }) => endMs));
  const failed = calls.filter(({ outcome, endMs }) => outcome.kind === 'unknown' && endMs > lastMs + withinMs);
  const when = `${withinMs / 1_000} s after the last fault, at ${timeOf(lastMs)}`;
  return unless(failed, `${failed.length} calls failed more than ${when}`);
}
