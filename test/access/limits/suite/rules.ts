/**
 * The rules of windows and bans, exact to the request and to the millisecond, for every limiter; and what one reports
 * of accounts and keys: bans, usage, counts. And what the tests of limiters share.
 */
import type { ExecutionContext, TestFn } from 'ava';
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

/** A request: when it comes, in ms after noon; from an account with fields of its own, or from an address. */
interface Sent extends Partial<Omit<AccountAttempt, 'kind' | 'nowMs'>> {
  readonly at?: number;
  readonly address?: string;
}

/** Requests that are repeated, with what the last decision is like; or another act. */
type Step = readonly [times: number, sent: Sent, expected?: object] | ((limiter: Limiter) => unknown);

const DAY_MS = 86_400_000;
const MIDNIGHT = DAY_MS / 2; // after noon
const ADMITTED = { allowed: true };
const REFUSED = { allowed: false, bannedUntilMs: undefined, begunBan: undefined };
const BEGINS = { ...REFUSED, begunBan: { keyId: KEY_ID }, retryAfterSeconds: BAN_MS / 1_000 };
const PASSES: Step = [1, {}, ADMITTED];
const LAST_OF_60 = { allowed: true, limit: 60, remaining: 0 };
const NOTHING = { perMinute: 0, perDay: 1_000 };

const quota = (perMinute: number, perDay: number) => ({ quota: { perMinute, perDay } });
/** Requests that are all refused. */
const refuse = (times: number, at: number, like: object = REFUSED): Step => [times, { at, quota: NOTHING }, like];
const BAN_OF_5 = { retryAfterSeconds: 230, resetAtSeconds: (NOON_MS + BAN_MS) / 1_000 };
const NEW_BAN = { keyId: KEY_ID, untilMs: NOON_MS + BAN_MS, durationMs: BAN_MS, refusals: 20 };
const isBanned = (untilMs: number) => ({ allowed: false, bannedUntilMs: NOON_MS + untilMs });
const restoreBan = (untilMs: number) => (limiter: Limiter) =>
  limiter.restoreBans([{ keyId: KEY_ID, untilMs: NOON_MS + untilMs }]);
const unban = (limiter: Limiter) => limiter.unban(ACCOUNT_ID, KEY_ID);

const rule = (title: string, ...steps: Step[]) => ({ title, steps, options: {} });

const WINDOWS = [
  rule(
    'Minute - is aligned to UTC, not to the first request',
    [60, { at: 59_999 }, LAST_OF_60],
    [1, { at: 59_999 }, { ...REFUSED, window: 'minute', limit: 60, remaining: 0, retryAfterSeconds: 1 }],
    [1, { at: 60_000 }, ADMITTED],
  ),
  rule(
    'Day - ends at midnight UTC, to the millisecond',
    [1, { at: MIDNIGHT - 1, ...quota(60, 1) }, ADMITTED],
    [1, { at: MIDNIGHT - 1, ...quota(60, 1) }, { ...REFUSED, window: 'day', retryAfterSeconds: 1 }],
    [1, { at: MIDNIGHT, ...quota(60, 1) }, { allowed: true, remaining: 0 }],
  ),
  rule(
    'Both windows - a request refused by the minute does not count in the day',
    [1, quota(1, 2), ADMITTED],
    [10, quota(1, 2), REFUSED],
    [1, { at: 60_000, ...quota(1, 2) }, ADMITTED],
  ),
  rule(
    'Both windows - a request refused by the day does not count in the minute',
    [1, quota(2, 1), ADMITTED],
    [1, quota(2, 1), REFUSED],
    [1, quota(2, 9), ADMITTED],
  ),
  rule(
    'Refusal - shows the day when both refused, for it resets later',
    [2, quota(2, 2), { ...ADMITTED, window: 'day' }],
    [1, quota(2, 2), { ...REFUSED, window: 'day', limit: 2, retryAfterSeconds: 43_200 }],
  ),
  rule(
    'Retry-After - is rounded up to whole seconds, at least 1',
    [60, {}, LAST_OF_60],
    [1, { at: 0 }, { ...REFUSED, retryAfterSeconds: 60 }],
    [1, { at: 1 }, { ...REFUSED, retryAfterSeconds: 60 }],
    [1, { at: 57_999 }, { ...REFUSED, retryAfterSeconds: 3 }],
    [1, { at: 58_000 }, { ...REFUSED, retryAfterSeconds: 2 }],
    [1, { at: 59_999 }, { ...REFUSED, retryAfterSeconds: 1 }],
    [1, { at: 60_000 }, ADMITTED],
  ),
  rule(
    'Account - all its keys share one quota',
    [59, {}, ADMITTED],
    [1, { keyId: OTHER_KEY }, LAST_OF_60],
    [1, { keyId: toKeyId(3n) }, REFUSED],
  ),
  rule(
    'Account - shares no counter with another account, nor with an address of the same name',
    [60, {}, LAST_OF_60],
    [1, { accountId: OTHER_ACCOUNT }, { allowed: true, remaining: 59 }],
    [1, { address: String(ACCOUNT_ID) }, { allowed: true, remaining: 59 }],
  ),
  rule(
    'Address - 60 requests a minute are admitted, without a limit by the day, and it is never banned',
    ...Array.from({ length: 20 }, (_, minute): Step[] => [
      [60, { address: '192.0.2.1', at: minute * 60_000 }, LAST_OF_60],
      [25, { address: '192.0.2.1', at: minute * 60_000 }, { ...REFUSED, window: 'minute', limit: 60, remaining: 0 }],
    ]).flat(),
  ),
];

const BANS = [
  rule(
    'Ban - the 20th refusal within a minute bans for 5 minutes, the 19th does not',
    refuse(19, 0),
    refuse(1, 10, BEGINS),
    refuse(1, 10, { ...isBanned(10 + BAN_MS), retryAfterSeconds: 300 }),
    refuse(1, 9 + BAN_MS, isBanned(10 + BAN_MS)),
    [1, { at: 10 + BAN_MS }, ADMITTED],
  ),
  rule('Ban - 20 refusals within exactly a minute, first to last, ban', refuse(19, 0), refuse(1, 60_000, BEGINS)),
  rule('Ban - 20 refusals over more than a minute do not ban', refuse(1, 0), refuse(19, 60_001)),
  rule(
    'Ban - requests during it neither count nor prolong it',
    refuse(20, 0, BEGINS),
    ...Array.from({ length: 299 }, (_, second) => refuse(1, second * 1_000, isBanned(BAN_MS))),
    [1, { at: 70_001 }, { ...isBanned(BAN_MS), ...BAN_OF_5, window: 'minute', limit: 60, remaining: 60 }],
    [1, { at: BAN_MS }, { allowed: true, remaining: 59 }],
    refuse(19, BAN_MS),
    refuse(1, BAN_MS, BEGINS),
  ),
  rule(
    'Ban - begins with one decision, which tells the window whose limit was exceeded',
    [79, {}, REFUSED],
    [1, {}, { begunBan: { ...NEW_BAN, window: 'minute' } }],
    [1, {}, { ...isBanned(BAN_MS), begunBan: undefined }],
    unban,
    [19, quota(80, 5), REFUSED],
    [1, quota(80, 5), { begunBan: { ...NEW_BAN, window: 'day' } }],
  ),
  rule(
    'Restored ban - holds until its end, and the refusals start from zero after it',
    restoreBan(1_000),
    refuse(1, 999, { ...isBanned(1_000), retryAfterSeconds: 1 }),
    refuse(19, 1_000),
    refuse(1, 1_000, BEGINS),
  ),
  rule('Restored ban - one that has ended is ignored', restoreBan(-1), PASSES),
  rule('Restored ban - one that ends later than a new one would does not hold', restoreBan(BAN_MS + 1), PASSES),
  rule(
    'Unban - the key works at once, with the remaining quota of its account, and its refusals count from zero',
    refuse(20, 0, BEGINS),
    unban,
    [1, {}, { allowed: true, remaining: 59 }],
    refuse(19, 0),
    refuse(1, 0, BEGINS),
  ),
  rule('Unban - deletes the refusals of a key that is not banned yet', refuse(19, 0), unban, refuse(19, 0)),
  rule('Unban - ends a restored ban, too', restoreBan(BAN_MS), unban, PASSES),
];

const GRACES = [
  rule(
    'Grace - a burst on its way at the first refusal of a minute does not ban, however large',
    refuse(500, 0),
    refuse(500, 1_999),
    [1, { at: 1_999 }, ADMITTED],
    [500, { at: 2_000, keyId: OTHER_KEY, quota: NOTHING }, REFUSED],
  ),
  rule(
    'Grace - who keeps sending is banned: the first refusal and 19 after the 2 seconds',
    refuse(100, 0),
    refuse(18, 2_000),
    refuse(1, 2_000, BEGINS),
  ),
  rule(
    'Grace - each minute of the limits has its own',
    refuse(100, 50_000),
    refuse(100, 61_000),
    refuse(17, 63_000),
    refuse(1, 63_000, BEGINS),
  ),
  rule(
    'Grace - begins again when the operator ends a ban',
    refuse(1, 0),
    refuse(19, 2_000, BEGINS),
    unban,
    refuse(100, 3_000),
    refuse(19, 5_000, BEGINS),
  ),
].map((graceful) => ({ ...graceful, options: GRACE }));

const JUMPS = [
  rule(
    'Clock jump - one reading a day ahead costs one minute at most, and Retry-After is right',
    [10, {}, ADMITTED],
    [1, { at: DAY_MS }, ADMITTED],
    [60, { at: 1_000 }],
    [1, { at: 1_000 }, { ...REFUSED, retryAfterSeconds: 59 }],
    [60, { at: 60_000 }, LAST_OF_60],
    [1, { at: 60_000 }, { ...REFUSED, retryAfterSeconds: 60 }],
  ),
  rule(
    'Clock jump - a ban set a day ahead has ended once the clock is right again, refusals recorded then do not count',
    refuse(20, DAY_MS, BEGINS),
    refuse(1, DAY_MS, isBanned(DAY_MS + BAN_MS)),
    [1, { at: 1_000 }, ADMITTED],
    refuse(19, DAY_MS + BAN_MS),
    refuse(19, 1_000),
  ),
];

/** For limiters of servers that share their counts. */
export const SHARED = [
  rule(
    'Request - that is sent to several servers counts once, and its second decision is the first',
    [59, {}, ADMITTED],
    [3, { requestId: 'a' }, LAST_OF_60],
    [1, { requestId: 'a', at: 19_999 }, LAST_OF_60],
    [1, { requestId: 'b' }, REFUSED],
    refuse(18, 0),
    [5, { requestId: 'b' }, REFUSED],
    [1, { requestId: 'e' }, BEGINS],
    [1, { requestId: 'e' }, isBanned(BAN_MS)],
    [1, { address: '192.0.2.1', requestId: 'c' }, { allowed: true, remaining: 59 }],
    [9, { address: '192.0.2.1', requestId: 'c' }, { allowed: true, remaining: 59 }],
    [1, { address: '192.0.2.1', requestId: 'd' }, { allowed: true, remaining: 58 }],
  ),
];

export async function send(limiter: Limiter, { at = 0, address, ...fields }: Sent): Promise<Decision> {
  const nowMs = NOON_MS + at;
  const { requestId } = fields;
  if (address !== undefined) return limiter.admit({ ...ofAddress(address), nowMs, requestId });
  return limiter.admit({ ...ACCOUNT, ...fields, nowMs });
}

export function limiterTests(test: TestFn, open: Open, shared: typeof SHARED = []): void {
  reportTests(test, open);
  for (const { title, steps, options } of [...WINDOWS, ...BANS, ...GRACES, ...JUMPS, ...shared]) {
    test(title, async (t) => {
      const limiter = await open(t, options);
      for (const [index, step] of steps.entries()) {
        if (typeof step === 'function') {
          await step(limiter);
          continue;
        }
        const [times, sent, expected] = step;
        let decision = await send(limiter, sent);
        for (let i = 1; i < times; i += 1) decision = await send(limiter, sent);
        if (expected !== undefined) t.like(decision, expected, `step ${index + 1}`);
      }
    });
  }
}

function reportTests(test: TestFn, open: Open): void {
  test('Usage - a drain returns the totals of the accounts and the keys that were used since the last', async (t) => {
    const limiter = await open(t);
    const midnightMs = NOON_MS + MIDNIGHT;
    const use = async (times: number, sent: Sent) => {
      for (let i = 0; i < times; i += 1) await send(limiter, sent);
      return limiter.drain();
    };
    const [accountId, keyId] = [ACCOUNT_ID, KEY_ID];
    const total = (dayIndex: number, requests: number, refused = 0) => ({ accountId, dayIndex, requests, refused });
    t.deepEqual(await use(85, {}), {
      usage: [total(DAY_INDEX, 60, 25)], // with five requests during the ban
      keyUses: [{ keyId, lastUsedAtMs: NOON_MS }],
    });
    t.deepEqual(await use(5, { address: '192.0.2.1' }), { usage: [], keyUses: [] });
    t.deepEqual(await use(1, { at: 1, keyId: OTHER_KEY }), {
      usage: [total(DAY_INDEX, 60, 26)],
      keyUses: [{ keyId: OTHER_KEY, lastUsedAtMs: NOON_MS + 1 }],
    });
    await send(limiter, { at: MIDNIGHT - 1 });
    t.deepEqual(await use(1, { at: MIDNIGHT }), {
      usage: [total(DAY_INDEX, 61, 26), total(DAY_INDEX + 1, 1)],
      keyUses: [{ keyId, lastUsedAtMs: midnightMs }],
    });
  });

  test('Counts - of the minute, the day and the refusals are shown, and nothing is counted by looking', async (t) => {
    const limiter = await open(t);
    for (let i = 0; i < 63; i += 1) await send(limiter, {});
    await send(limiter, { at: 60_000 });
    limiter.drain();
    for (const [atMs, minute, day, refused] of [
      [60_000, 1, 61, 3],
      [120_000, 0, 61, 3],
      [MIDNIGHT, 0, 0, 0],
    ] as const) {
      const numbers = await limiter.peek({ ...ACCOUNT, nowMs: NOON_MS + atMs });
      t.like(numbers, { windows: [{ used: minute }, { used: day }], refused });
      t.not(numbers.isLocal, true);
    }
    t.deepEqual(limiter.drain(), { usage: [], keyUses: [] });
  });

  test('Look - tells of a ban that holds, also in the next minute, and counts nothing', async (t) => {
    const limiter = await open(t);
    await repeat(limiter, 80, ACCOUNT);
    const later = { ...ACCOUNT, nowMs: NOON_MS + 60_000 };
    t.like(await limiter.peek(later), { ...isBanned(BAN_MS), remaining: 60 });
    t.like(await limiter.peek({ ...later, keyId: OTHER_KEY }), { allowed: true, remaining: 60 });
    t.like(await limiter.admit({ ...later, keyId: OTHER_KEY }), { allowed: true, remaining: 59 });
  });

  test('Addresses - beyond the maximum in a minute share one quota, and cost no account anything', async (t) => {
    const limiter = await open(t, { maxAddresses: 100 });
    const addresses = Array.from({ length: 500 }, (_, index) => send(limiter, { address: `${index}` }));
    t.is(countAdmitted(await Promise.all(addresses)), 100 + 60);
    t.like(await send(limiter, { address: '0' }), { allowed: true, remaining: 58 });
    const shown = await limiter.peek(ofAddress('one more'));
    t.like(shown, { allowed: false, remaining: 0 });
    t.like(await send(limiter, {}), { allowed: true, remaining: 59 });
    t.like(await send(limiter, { address: 'newcomer', at: 60_000 }), { allowed: true, remaining: 59 });
  });

  test('Guesses - beyond the maximum of addresses are not limited: one may be a valid key', async (t) => {
    const limiter = await open(t, { maxAddresses: 100 });
    const { quota, nowMs } = ofAddress('');
    const guess = (address: string): Attempt => ({ kind: 'guesses', address, quota, nowMs });
    for (let index = 0; index < 200; index += 1) await limiter.admit(guess(`${index}`));
    for (let times = 0; times < 70; times += 1) {
      t.like(await limiter.peek(guess('newcomer')), { allowed: true, remaining: 60 });
      await limiter.admit(guess('newcomer'));
      await limiter.admit(guess('0'));
    }
    t.like(await limiter.peek(guess('0')), { allowed: false, remaining: 0 }, 'one of the first');
  });
}
