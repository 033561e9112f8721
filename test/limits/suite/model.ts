/** Any sequence of requests, against the contract's section 8 at its plainest. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { UsageRow } from '../../../src/limits/limiter.ts';
import type { Quota } from '../../../src/model.ts';
import type { LimitsTest } from './setup.ts';

const START_MS = Date.UTC(2026, 6, 1, 23, 50);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const POLICY = { refusals: 3, windowMs: MINUTE_MS, durationMs: 150_000 };
const SUBJECTS = ['a', 'b'];

type Step =
  | { readonly do: 'advance'; readonly byMs: number }
  | { readonly do: 'request'; readonly subject: string; readonly key: string }
  | { readonly do: 'change'; readonly subject: string; readonly quota: Quota };

/** Time moves a little, by the minute, by the hour, and now and then backwards: then it stands still. */
const byMs = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 20_000, max: 3 * MINUTE_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: DAY_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: -MINUTE_MS, max: 0 }) },
);
const quota = fc.record({
  perMinute: fc.integer({ min: 0, max: 5 }),
  perDay: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constant(Number.POSITIVE_INFINITY)),
});
const subject = fc.constantFrom(...SUBJECTS);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('request'), subject, key: fc.constantFrom('1', '2') }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance'), byMs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('change'), subject, quota }) },
);

/** The contract's section 8 at its plainest: lists of what happened, counted anew for each request. */
class Reference {
  readonly #accepted: { readonly subject: string; readonly atMs: number }[] = [];
  readonly #refused: { readonly subject: string; readonly atMs: number }[] = [];
  readonly #strikes: { readonly key: string; readonly atMs: number }[] = [];
  readonly #bans: { readonly key: string; readonly untilMs: number }[] = [];

  admit(subject: string, key: string, quota: Quota, nowMs: number) {
    const ban = this.#bans.find((one) => one.key === key && nowMs < one.untilMs);
    if (ban !== undefined) {
      this.#refused.push({ subject, atMs: nowMs });
      const wait = Math.ceil((ban.untilMs - nowMs) / 1_000);
      const reading = this.#mostBinding(subject, quota, nowMs);
      return { allowed: false, bannedUntilMs: ban.untilMs, ...reading, retryAfterSeconds: wait };
    }
    const before = this.#mostBinding(subject, quota, nowMs);
    if (before.remaining > 0) {
      this.#accepted.push({ subject, atMs: nowMs });
      return { allowed: true, ...this.#mostBinding(subject, quota, nowMs) };
    }
    this.#refused.push({ subject, atMs: nowMs });
    const beginsBan = this.#strike(key, nowMs);
    const wait = Math.ceil((before.resetAtSeconds * 1_000 - nowMs) / 1_000);
    return { allowed: false, ...before, retryAfterSeconds: wait, ...(beginsBan ? { beginsBan } : {}) };
  }

  /** The totals of each subject's every day. */
  usage(): UsageRow[] {
    const days = new Set([...this.#accepted, ...this.#refused].map(({ atMs }) => Math.floor(atMs / DAY_MS)));
    const rows = [...days].flatMap((dayIndex) =>
      SUBJECTS.map((subject) => {
        const isOfRow = (one: { subject: string; atMs: number }) =>
          one.subject === subject && Math.floor(one.atMs / DAY_MS) === dayIndex;
        const requests = this.#accepted.filter(isOfRow).length;
        return { subject, dayIndex, requests, refused: this.#refused.filter(isOfRow).length };
      }),
    );
    return rows.filter(({ requests, refused }) => requests + refused > 0);
  }

  #mostBinding(subject: string, quota: Quota, nowMs: number) {
    const readings = [
      { window: 'day', limit: quota.perDay, lengthMs: DAY_MS },
      { window: 'minute', limit: quota.perMinute, lengthMs: MINUTE_MS },
    ].map(({ window, limit, lengthMs }) => {
      const index = Math.floor(nowMs / lengthMs);
      const count = this.#accepted.filter(
        (one) => one.subject === subject && Math.floor(one.atMs / lengthMs) === index,
      );
      const remaining = Math.max(0, limit - count.length);
      return { window, limit, remaining, resetAtSeconds: ((index + 1) * lengthMs) / 1_000 };
    });
    return readings.reduce((day, minute) => (minute.remaining < day.remaining ? minute : day));
  }

  #strike(key: string, nowMs: number): boolean {
    this.#strikes.push({ key, atMs: nowMs });
    const clearedMs = Math.max(...this.#bans.filter((one) => one.key === key).map((one) => one.untilMs), 0);
    const recent = this.#strikes.filter(
      ({ key: struck, atMs }) => struck === key && atMs >= clearedMs && atMs >= nowMs - POLICY.windowMs,
    );
    if (recent.length < POLICY.refusals) return false;
    this.#bans.push({ key, untilMs: nowMs + POLICY.durationMs });
    return true;
  }
}

export function modelTests(test: LimitsTest): void {
  // `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
  test('Model - any sequence of requests, times and quotas agrees with a plain list of what happened', async (t) => {
    const seen = { admitted: 0, refused: 0, banned: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
        const limiter = await t.context.open({ ban: POLICY, addresses: { perMinute: 60, maxTracked: 10 } });
        const reference = new Reference();
        const quotas = new Map<string, Quota>();
        const saved = new Map<string, UsageRow>();
        const save = () => {
          for (const row of limiter.drainUsage()) saved.set(`${row.subject} ${row.dayIndex}`, row);
        };
        let clockMs = START_MS;
        let latestMs = Number.NEGATIVE_INFINITY;
        for (const one of steps) {
          if (one.do === 'change') quotas.set(one.subject, one.quota);
          if (one.do === 'advance') {
            clockMs = Math.max(clockMs + one.byMs, latestMs - MINUTE_MS);
            save();
          }
          if (one.do !== 'request') continue;
          latestMs = Math.max(latestMs, clockMs);
          const key = `${one.subject}${one.key}`;
          const agreed = quotas.get(one.subject) ?? { perMinute: 3, perDay: 10 };
          const attempt = { kind: 'account', subject: one.subject, key, quota: agreed, nowMs: clockMs } as const;
          const decision = await limiter.admit(attempt);
          assert.deepEqual(decision, reference.admit(one.subject, key, agreed, latestMs));
          seen[decision.allowed ? 'admitted' : 'bannedUntilMs' in decision ? 'banned' : 'refused'] += 1;
        }
        save();
        const byName = (x: UsageRow, y: UsageRow) => x.dayIndex - y.dayIndex || x.subject.localeCompare(y.subject);
        assert.deepEqual([...saved.values()].sort(byName), reference.usage().sort(byName));
      }),
      { numRuns: 500, includeErrorInReport: true },
    );
    t.true(Math.min(seen.admitted, seen.refused, seen.banned) > 1_000, `too one-sided: ${JSON.stringify(seen)}`);
  });
}
