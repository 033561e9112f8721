/** Any sequence of requests, compared with a naive implementation of the limits. */
import assert from 'node:assert/strict';
import type { TestFn } from 'ava';
import fc from 'fast-check';
import type { AccountAttempt } from '../../../../src/access/limits/limiter.ts';
import { toAccountId, toKeyId } from '../../../../src/rpc/caller.ts';
import type { Open } from './setup.ts';

const START_MS = Date.UTC(2026, 6, 1, 23, 50);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const POLICY = { refusals: 3, windowMs: MINUTE_MS, durationMs: 150_000 };

/** A request of one of two keys of one of two accounts, after none, some seconds, minutes or hours. */
const step = fc.record({
  account: fc.constantFrom(1n, 2n),
  key: fc.constantFrom(0n, 1n),
  quota: fc.oneof(
    { weight: 12, arbitrary: fc.constant({ perMinute: 3, perDay: 10 }) },
    { weight: 1, arbitrary: fc.record({ perMinute: fc.nat({ max: 5 }), perDay: fc.constantFrom(5, 12, Infinity) }) },
  ),
  afterMs: fc.oneof(
    { weight: 24, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.nat({ max: 20_000 }) },
    { weight: 2, arbitrary: fc.nat({ max: 3 * MINUTE_MS }) },
    { weight: 1, arbitrary: fc.nat({ max: DAY_MS }) },
  ),
});

/** A naive implementation: lists of all events, counted anew for each request. */
class Reference {
  readonly #admitted: AccountAttempt[] = [];
  readonly #refused: AccountAttempt[] = [];
  readonly #bans: { readonly keyId: bigint; readonly untilMs: number }[] = [];

  admit(attempt: AccountAttempt) {
    const { keyId, nowMs } = attempt;
    const ban = this.#bans.find((one) => one.keyId === keyId && nowMs < one.untilMs);
    const before = this.#mostBinding(attempt);
    if (ban !== undefined) {
      const retryAfterSeconds = Math.ceil((ban.untilMs - nowMs) / 1_000);
      return { allowed: false, bannedUntilMs: ban.untilMs, ...before, retryAfterSeconds };
    }
    if (before.remaining > 0) {
      this.#admitted.push(attempt);
      return { allowed: true, ...this.#mostBinding(attempt) };
    }
    const retryAfterSeconds = Math.ceil((before.resetAtSeconds * 1_000 - nowMs) / 1_000);
    return { allowed: false, ...before, retryAfterSeconds, ...(this.#strike(attempt) ? { beginsBan: true } : {}) };
  }

  #mostBinding({ accountId, quota, nowMs }: AccountAttempt) {
    const [day, minute] = (
      [
        { window: 'day', limit: quota.perDay, lengthMs: DAY_MS },
        { window: 'minute', limit: quota.perMinute, lengthMs: MINUTE_MS },
      ] as const
    ).map(({ window, limit, lengthMs }) => {
      const startMs = nowMs - (nowMs % lengthMs);
      const used = this.#admitted.filter((one) => one.accountId === accountId && one.nowMs >= startMs).length;
      return { window, limit, remaining: Math.max(0, limit - used), resetAtSeconds: (startMs + lengthMs) / 1_000 };
    }) as [Reading, Reading];
    return minute.remaining < day.remaining ? minute : day;
  }

  #strike(attempt: AccountAttempt): boolean {
    const { keyId, nowMs } = attempt;
    this.#refused.push(attempt);
    const clearedMs = Math.max(...this.#bans.filter((one) => one.keyId === keyId).map(({ untilMs }) => untilMs), 0);
    const sinceMs = Math.max(clearedMs, nowMs - POLICY.windowMs);
    const recent = this.#refused.filter((one) => one.keyId === keyId && one.nowMs >= sinceMs);
    if (recent.length < POLICY.refusals) return false;
    this.#bans.push({ keyId, untilMs: nowMs + POLICY.durationMs });
    return true;
  }
}

type Reading = { window: string; limit: number; remaining: number; resetAtSeconds: number };

export function modelTests(test: TestFn, open: Open): void {
  // `assert` and not `t` inside a property: fast-check then reports the smallest sequence that fails.
  test('Model - any sequence of requests, times and quotas agrees with a naive implementation', async (t) => {
    const seen = { admitted: 0, refused: 0, banned: 0 };
    const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 150 }), async (steps) => {
      const limiter = await open(t, { ban: POLICY });
      const reference = new Reference();
      let nowMs = START_MS;
      for (const { account, key, quota, afterMs } of steps) {
        nowMs += afterMs;
        const keyId = toKeyId(account * 2n + key);
        const attempt = { kind: 'account', accountId: toAccountId(account), keyId, quota, nowMs } as const;
        const decision = await limiter.admit(attempt);
        assert.deepEqual(decision, reference.admit(attempt));
        seen[decision.allowed ? 'admitted' : 'bannedUntilMs' in decision ? 'banned' : 'refused'] += 1;
      }
    });
    await fc.assert(property, { numRuns: 200, includeErrorInReport: true });
    t.true(Math.min(seen.admitted, seen.refused, seen.banned) > 400, `too one-sided: ${JSON.stringify(seen)}`);
  });
}
