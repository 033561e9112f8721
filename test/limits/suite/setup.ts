/** What the limits suite asks of an engine under test. */
import { randomUUID } from 'node:crypto';
import type { TestFn } from 'ava';
import type { AccountAttempt, Decision, Limiter, ManagedLimiter } from '../../../src/limits/limiter.ts';
import type { MemoryLimiterOptions } from '../../../src/limits/memory.ts';

export const NOON_MS = Date.UTC(2026, 6, 1, 12);
export const MIDNIGHT_MS = Date.UTC(2026, 6, 2);
export const DAY_INDEX = Math.floor(NOON_MS / 86_400_000);
export const OPTIONS: MemoryLimiterOptions = {
  ban: { refusals: 20, windowMs: 60_000, durationMs: 300_000 },
  addresses: { perMinute: 60, maxTracked: 1_000 },
};

export const ACCOUNT: AccountAttempt = {
  kind: 'account',
  subject: 'acc',
  key: 'key',
  quota: { perMinute: 60, perDay: 1_000 },
  nowMs: NOON_MS,
};

/** Opens an engine on a state of that name, empty when the name is new. Engines that share nothing ignore it. */
export type OpenLimits = (options: MemoryLimiterOptions, state: string) => Promise<ManagedLimiter>;

interface Context {
  /** Opens an engine with nothing in it; it is closed at the end of the test. */
  readonly open: (options?: Partial<MemoryLimiterOptions>) => Promise<ManagedLimiter>;
  /** Opens several engines with one state: servers that share it. */
  readonly openShared: (count: number, options?: Partial<MemoryLimiterOptions>) => Promise<ManagedLimiter[]>;
  readonly opened: ManagedLimiter[];
}

export type LimitsTest = TestFn<Context>;

export function useLimits(openLimits: OpenLimits, test: LimitsTest): void {
  test.beforeEach((t) => {
    const opened: ManagedLimiter[] = [];
    const openShared: Context['openShared'] = async (count, options = {}) => {
      const state = `petstore-test-${randomUUID()}`;
      const engines: ManagedLimiter[] = [];
      for (let i = 0; i < count; i += 1) engines.push(await openLimits({ ...OPTIONS, ...options }, state));
      opened.push(...engines);
      return engines;
    };
    const open: Context['open'] = async (options) => {
      const [engine] = await openShared(1, options);
      if (engine === undefined) throw new Error('no engine was opened');
      return engine;
    };
    t.context = { open, openShared, opened };
  });
  test.afterEach.always(async (t) => {
    for (const engine of t.context.opened) await engine.close();
  });
}

/** Admits the same request a number of times and gives the last decision. */
export async function repeat(limiter: Limiter, times: number, attempt: AccountAttempt): Promise<Decision> {
  let decision = await limiter.admit(attempt);
  for (let i = 1; i < times; i += 1) decision = await limiter.admit(attempt);
  return decision;
}

export async function fromAddress(limiter: Limiter, subject: string, nowMs = NOON_MS): Promise<Decision> {
  return limiter.admit({ kind: 'address', subject, nowMs });
}
