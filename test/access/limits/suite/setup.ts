/** The context of the limiter suites: opens limiters, and has the requests that the tests send. */
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import type { AccountAttempt, Decision, Limiter, ManagedLimiter } from '../../../../src/access/limits/limiter.ts';
import type { MemoryLimiterOptions } from '../../../../src/access/limits/memory.ts';
import { toAccountId, toKeyId } from '../../../../src/rpc/caller.ts';

export const NOON_MS = Date.UTC(2026, 6, 1, 12);
export const MIDNIGHT_MS = Date.UTC(2026, 6, 2);
export const DAY_INDEX = Math.floor(NOON_MS / 86_400_000);
export const OPTIONS: MemoryLimiterOptions = {
  ban: { refusals: 20, windowMs: 60_000, durationMs: 300_000 },
  addresses: { perMinute: 60, maxTracked: 1_000 },
};

export const ACCOUNT_ID = toAccountId(7n);
export const OTHER_ACCOUNT = toAccountId(8n);
export const KEY_ID = toKeyId(1n);
export const OTHER_KEY = toKeyId(2n);

/** A request of a free account at noon. */
export const ACCOUNT: AccountAttempt = {
  kind: 'account',
  accountId: ACCOUNT_ID,
  keyId: KEY_ID,
  quota: { perMinute: 60, perDay: 1_000 },
  nowMs: NOON_MS,
};

/**
 * Opens a limiter on the state of that name, which is empty when the name is new. Limiters in memory ignore the name.
 */
export type OpenLimits = (options: MemoryLimiterOptions, state: string) => Promise<ManagedLimiter>;

interface Context {
  /** Opens an empty limiter. It is closed at the end of the test. */
  readonly open: (options?: Partial<MemoryLimiterOptions>) => Promise<ManagedLimiter>;
  /** Opens several limiters that share one state, as servers do. */
  readonly openShared: (count: number, options?: Partial<MemoryLimiterOptions>) => Promise<ManagedLimiter[]>;
  readonly opened: ManagedLimiter[];
}

export type LimitsTest = TestFn<Context>;

export function useLimits(openLimits: OpenLimits, test: LimitsTest): void {
  test.beforeEach((t) => {
    const opened: ManagedLimiter[] = [];
    const openShared: Context['openShared'] = async (count, options = {}) => {
      const state = `petstore-test-${randomUUID()}`;
      const limiters: ManagedLimiter[] = [];
      for (let i = 0; i < count; i += 1) limiters.push(await openLimits({ ...OPTIONS, ...options }, state));
      opened.push(...limiters);
      return limiters;
    };
    const open: Context['open'] = async (options) => {
      const [limiter] = await openShared(1, options);
      if (limiter === undefined) throw new Error('no limiter was opened');
      return limiter;
    };
    t.context = { open, openShared, opened };
  });
  test.afterEach.always(async (t) => {
    for (const limiter of t.context.opened) await limiter.close();
  });
}

/** Sends the same request a number of times. Resolves with the last decision. */
export async function repeat(limiter: Limiter, times: number, attempt: AccountAttempt): Promise<Decision> {
  let decision = await limiter.admit(attempt);
  for (let i = 1; i < times; i += 1) decision = await limiter.admit(attempt);
  return decision;
}

export async function fromAddress(limiter: Limiter, address: string, nowMs = NOON_MS): Promise<Decision> {
  return limiter.admit({ kind: 'address', address, nowMs });
}
