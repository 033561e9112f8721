/** Any sequence of requests, compared with a naive implementation of the limits. */
import assert from 'node:assert/strict';
import type { TestFn } from 'ava';
import fc from 'fast-check';
import type { DayUsage } from '../../../../src/access/tables/model.ts';
import { type AccountId, type KeyId, type Quota, toAccountId, toKeyId } from '../../../../src/rpc/caller.ts';
import type { Open } from './setup.ts';

const START_MS = Date.UTC(2026, 6, 1, 23, 50);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const POLICY = { refusals: 3, windowMs: MINUTE_MS, durationMs: 150_000 };
const ACCOUNTS = [1n, 2n].map(toAccountId);

type Step =
  | { readonly do: 'advance'; readonly byMs: number }
  | { readonly do: 'request'; readonly accountId: AccountId; readonly key: bigint }
  | { readonly do: 'change'; readonly accountId: AccountId; readonly quota: Quota };

/** Time advances by seconds, minutes or hours. */
const byMs = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 20_000, max: 3 * MINUTE_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: DAY_MS }) },
);
const quota = fc.record({
  perMinute: fc.integer({ min: 0, max: 5 }),
  perDay: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.constant(Number.POSITIVE_INFINITY)),
});
const accountId = fc.constantFrom(...ACCOUNTS);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('request'), accountId, key: fc.constantFrom(0n, 1n) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('advance'), byMs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('change'), accountId, quota }) },
);

/** A naive implementation: lists of all events, counted anew for each request. */
class Reference {
  readonly #accepted: { readonly accountId: AccountId; readonly atMs: number }[] = [];
  readonly #refused: { readonly accountId: AccountId; readonly atMs: number }[] = [];
  readonly #strikes: { readonly keyId: KeyId; readonly atMs: number }[] = [];
  readonly #bans: { readonly keyId: KeyId; readonly untilMs: number }[] = [];

  admit(accountId: AccountId, keyId: KeyId, quota: Quota, nowMs: number) {
    const ban = this.#bans.find((one) => one.keyId === keyId && nowMs < one.untilMs);
    if (ban !== undefined) {
      this.#refused.push({ accountId, atMs: nowMs });
      const wait = Math.ceil((ban.untilMs - nowMs) / 1_000);
      const reading = this.#mostBinding(accountId, quota, nowMs);
      return { allowed: false, bannedUntilMs: ban.untilMs, ...reading, retryAfterSeconds: wait };
    }
    const before = this.#mostBinding(accountId, quota, nowMs);
    if (before.remaining > 0) {
      this.#accepted.push({ accountId, atMs: nowMs });
      return { allowed: true, ...this.#mostBinding(accountId, quota, nowMs) };
    }
    this.#refused.push({ accountId, atMs: nowMs });
    const beginsBan = this.#strike(keyId, nowMs);
    const wait = Math.ceil((before.resetAtSeconds * 1_000 - nowMs) / 1_000);
    return { allowed: false, ...before, retryAfterSeconds: wait, ...(beginsBan ? { beginsBan } : {}) };
  }

  /** Returns the totals of each account's days. */
  usage(): DayUsage[] {
    const days = new Set([...this.#accepted, ...this.#refused].map(({ atMs }) => Math.floor(atMs / DAY_MS)));
    const rows = [...days].flatMap((dayIndex) =>
      ACCOUNTS.map((accountId) => {
        const isOfRow = (one: { accountId: AccountId; atMs: number }) =>
          one.accountId === accountId && Math.floor(one.atMs / DAY_MS) === dayIndex;
        const requests = this.#accepted.filter(isOfRow).length;
        return { accountId, dayIndex, requests, refused: this.#refused.filter(isOfRow).length };
      }),
    );
    return rows.filter(({ requests, refused }) => requests + refused > 0);
  }

  #mostBinding(accountId: AccountId, quota: Quota, nowMs: number) {
    const readings = [
      { window: 'day', limit: quota.perDay, lengthMs: DAY_MS },
      { window: 'minute', limit: quota.perMinute, lengthMs: MINUTE_MS },
    ].map(({ window, limit, lengthMs }) => {
      const index = Math.floor(nowMs / lengthMs);
      const count = this.#accepted.filter(
        (one) => one.accountId === accountId && Math.floor(one.atMs / lengthMs) === index,
      );
      const remaining = Math.max(0, limit - count.length);
      return { window, limit, remaining, resetAtSeconds: ((index + 1) * lengthMs) / 1_000 };
    });
    return readings.reduce((day, minute) => (minute.remaining < day.remaining ? minute : day));
  }

  #strike(keyId: KeyId, nowMs: number): boolean {
    this.#strikes.push({ keyId, atMs: nowMs });
    const clearedMs = Math.max(...this.#bans.filter((one) => one.keyId === keyId).map((one) => one.untilMs), 0);
    const recent = this.#strikes.filter(
      ({ keyId: struck, atMs }) => struck === keyId && atMs >= clearedMs && atMs >= nowMs - POLICY.windowMs,
    );
    if (recent.length < POLICY.refusals) return false;
    this.#bans.push({ keyId, untilMs: nowMs + POLICY.durationMs });
    return true;
  }
}

export function modelTests(test: TestFn, open: Open): void {
  // `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
  test('Model - any sequence of requests, times and quotas agrees with a naive implementation', async (t) => {
    const seen = { admitted: 0, refused: 0, banned: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
        const limiter = await open(t, { ban: POLICY });
        const reference = new Reference();
        const quotas = new Map<AccountId, Quota>();
        const saved = new Map<string, DayUsage>();
        const save = () => {
          for (const row of limiter.drain().usage) saved.set(`${row.accountId} ${row.dayIndex}`, row);
        };
        let clockMs = START_MS;
        for (const one of steps) {
          if (one.do === 'change') quotas.set(one.accountId, one.quota);
          if (one.do === 'advance') {
            clockMs += one.byMs;
            save();
          }
          if (one.do !== 'request') continue;
          const { accountId } = one;
          const keyId = toKeyId(accountId * 2n + one.key);
          const agreed = quotas.get(accountId) ?? { perMinute: 3, perDay: 10 };
          const attempt = { kind: 'account', accountId, keyId, quota: agreed, nowMs: clockMs } as const;
          const decision = await limiter.admit(attempt);
          assert.deepEqual(decision, reference.admit(accountId, keyId, agreed, clockMs));
          seen[decision.allowed ? 'admitted' : 'bannedUntilMs' in decision ? 'banned' : 'refused'] += 1;
        }
        save();
        const byName = (x: DayUsage, y: DayUsage) => x.dayIndex - y.dayIndex || Number(x.accountId - y.accountId);
        assert.deepEqual([...saved.values()].sort(byName), reference.usage().sort(byName));
      }),
      { numRuns: 200, includeErrorInReport: true },
    );
    t.true(Math.min(seen.admitted, seen.refused, seen.banned) > 400, `too one-sided: ${JSON.stringify(seen)}`);
  });
}
