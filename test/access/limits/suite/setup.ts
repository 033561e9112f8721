/** What the tests of limiters share: how to open a limiter, and the requests that they send. */
import type { ExecutionContext } from 'ava';
import type { Attempt, Decision, Limiter, LimiterOptions } from '../../../../src/platform/access/limits/limiter.ts';
import { toAccountId, toKeyId } from '../../../../src/platform/rpc/caller.ts';

export const NOON_MS = Date.UTC(2026, 6, 1, 12);
export const DAY_INDEX = Math.floor(NOON_MS / 86_400_000);
export const BAN_MS = 300_000;
export const OPTIONS: LimiterOptions = {
  ban: { refusals: 20, windowMs: 60_000, graceMs: 0, durationMs: BAN_MS },
  maxAddresses: 1_000,
};
export const NO_BAN = { ban: { ...OPTIONS.ban, refusals: 10_000, durationMs: 1_000 } };
/** The other rules of bans are tested without the grace. */
export const GRACE = { ban: { ...OPTIONS.ban, graceMs: 2_000 } };

export const ACCOUNT_ID = toAccountId(7n);
export const OTHER_ACCOUNT = toAccountId(8n);
export const KEY_ID = toKeyId(1n);
export const OTHER_KEY = toKeyId(2n);

export type AccountAttempt = Extract<Attempt, { kind: 'account' }>;

/** A request of a free account at noon. */
export const ACCOUNT: AccountAttempt = {
  kind: 'account',
  accountId: ACCOUNT_ID,
  keyId: KEY_ID,
  quota: { perMinute: 60, perDay: 1_000 },
  nowMs: NOON_MS,
};

/** A request without a valid key at noon. */
export function ofAddress(address: string): Attempt {
  return { kind: 'address', address, quota: { perMinute: 60, perDay: Number.POSITIVE_INFINITY }, nowMs: NOON_MS };
}

/** Opens a limiter without counts. It is closed at the end of the test. */
export type Open = (t: ExecutionContext, options?: Partial<LimiterOptions>) => Promise<Limiter>;

/** Sends the same request a number of times. Resolves with the last decision. */
export async function repeat(limiter: Limiter, times: number, attempt: AccountAttempt): Promise<Decision> {
  let decision = await limiter.admit(attempt);
  for (let i = 1; i < times; i += 1) decision = await limiter.admit(attempt);
  return decision;
}

/** Sends concurrent requests to all limiters in turn. Resolves with the decisions. */
export function flood(limiters: readonly Limiter[], times: number, attempt = ACCOUNT): Promise<Decision[]> {
  const rounds = Array.from({ length: Math.ceil(times / limiters.length) });
  return Promise.all(rounds.flatMap(() => limiters.map(async (limiter) => limiter.admit(attempt))));
}

export function countAdmitted(decisions: readonly Decision[]): number {
  return decisions.filter(({ allowed }) => allowed).length;
}
