import test from 'ava';
import { authentication } from '../../../src/access/interceptors/authentication.ts';
import { limits } from '../../../src/access/interceptors/limits.ts';
import { createMemoryLimiter } from '../../../src/access/limits/memory.ts';
import { minuteEndSeconds } from '../../../src/access/limits/windows.ts';
import { ApiError, AT_A_TIME, apiError } from '../../../src/errors.ts';
import { toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import type { Call } from '../../../src/rpc/chain.ts';
import { newCall, RESPONSE, type TestCall } from '../../support/call.ts';

const MIDNIGHT_MS = Date.UTC(2026, 6, 2);
const BAN = { refusals: 20, windowMs: 60_000, durationMs: 300_000 };

/** The interceptor with a memory limiter and a clock that the test sets. */
function setUp(startMs = MIDNIGHT_MS - 90_000) {
  const clock = { nowMs: startMs };
  const limiter = createMemoryLimiter({ ban: BAN, addresses: { perMinute: 3, maxTracked: 100 } });
  let isFull = false;
  const takeShare = () => {
    if (isFull) throw apiError('RATE_LIMITED', { limit: 50, window: AT_A_TIME, retryAfterSeconds: 1 });
    return () => undefined;
  };
  const shares = { holdForAddress: takeShare, holdForAccount: () => void takeShare() };
  const { interceptor, anonymous } = limits(limiter, { shares, nowMs: () => clock.nowMs });
  return {
    clock,
    interceptor,
    anonymous,
    fill() {
      isFull = true;
    },
    async call(quota = { perMinute: 2, perDay: 5 }) {
      const call = makeCall({ caller: { keyId: toKeyId(1n), accountId: toAccountId(7n), plan: 'free', quota } });
      const outcome = await interceptor.intercept(call, async () => RESPONSE).catch((error: unknown) => error);
      return { outcome, headers: Object.fromEntries(call.responseHeaders) };
    },
    async callAnonymously(address = '10.0.0.1') {
      const call = makeCall({ address });
      return anonymous.count(call, false).then(
        () => Object.fromEntries(call.responseHeaders),
        (error: unknown) => error,
      );
    },
  };
}

function makeCall(parts: Partial<Call>, path = 'PetService/GetPet'): TestCall {
  return { ...newCall(path), ...parts };
}

test.serial(
  'limits - by default the time is Date.now, as for the operator and at a restart, also after a jump',
  async (t) => {
    const { now } = Date;
    t.teardown(() => Object.assign(Date, { now }));
    let aheadMs = 0;
    Date.now = () => now() + aheadMs;
    const limiter = createMemoryLimiter({ ban: BAN, addresses: { perMinute: 3, maxTracked: 100 } });
    const shares = { holdForAddress: () => () => undefined, holdForAccount: () => undefined };
    const { interceptor } = limits(limiter, { shares });
    const quota = { perMinute: 100, perDay: Number.POSITIVE_INFINITY };
    for (aheadMs of [0, 3_600_000, 0, -3_600_000]) {
      const call = makeCall({ caller: { keyId: toKeyId(1n), accountId: toAccountId(7n), plan: 'free', quota } });
      const before = limiter.counts(toAccountId(7n), Date.now());
      await interceptor.intercept(call, async () => RESPONSE);
      const after = limiter.counts(toAccountId(7n), Date.now());
      const resets = [before, after].map(({ counter }) => String(minuteEndSeconds(counter)));
      t.true(resets.includes(call.responseHeaders.get('x-ratelimit-reset') ?? ''), `${aheadMs} ms ahead`);
    }
  },
);

test('limits - a request that passes shows the window with the fewest requests left', async (t) => {
  const { call, clock } = setUp();
  t.deepEqual(await call(), {
    outcome: RESPONSE,
    headers: {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': String(Math.ceil(clock.nowMs / 60_000) * 60),
    },
  });
  await call();
  clock.nowMs += 60_000;
  await call();
  clock.nowMs += 60_000; // past midnight: both windows are new
  const { headers } = await call({ perMinute: 100, perDay: 5 });
  t.is(headers['x-ratelimit-limit'], '5');
  t.is(headers['x-ratelimit-reset'], String(MIDNIGHT_MS / 1000 + 86_400));
});

test('limits - a request beyond the limit of the minute is a 429 until the minute ends', async (t) => {
  const { call, clock } = setUp(MIDNIGHT_MS - 60_000 - 1_500);
  await call();
  await call();
  const { outcome, headers } = await call();
  t.true(outcome instanceof ApiError);
  const error = outcome as ApiError;
  t.is(error.code, 'RATE_LIMITED');
  t.is(error.httpStatus, 429);
  t.is(error.retryAfterSeconds, 2); // 1.5 s, rounded up
  t.is(error.quotaSubject, 'account:7');
  t.is(error.message, 'the limit of 2 per minute is used up: try again in 2 s');
  t.is(headers['x-ratelimit-remaining'], '0');
  clock.nowMs += 1_499;
  t.true((await call()).outcome instanceof ApiError);
  clock.nowMs += 1;
  t.is((await call()).outcome, RESPONSE);
});

test('limits - the day ends at midnight UTC, with the minute', async (t) => {
  const { call, clock } = setUp(MIDNIGHT_MS - 1);
  for (let i = 0; i < 2; i += 1) t.is((await call({ perMinute: 10, perDay: 2 })).outcome, RESPONSE);
  const { outcome } = await call({ perMinute: 10, perDay: 2 });
  t.is((outcome as ApiError).message, 'the limit of 2 per day is used up: try again in 1 s');
  clock.nowMs += 1;
  t.is((await call({ perMinute: 10, perDay: 2 })).outcome, RESPONSE);
});

test('limits - the 20th refusal within a minute bans the key for 5 minutes', async (t) => {
  const { call, clock } = setUp();
  const none = { perMinute: 1, perDay: 1 };
  await call(none);
  for (let i = 0; i < 20; i += 1) t.is(((await call(none)).outcome as ApiError).code, 'RATE_LIMITED');
  const banned = (await call(none)).outcome as ApiError;
  t.is(banned.code, 'API_KEY_BANNED');
  t.is(banned.httpStatus, 429);
  t.is(banned.retryAfterSeconds, 300);
  clock.nowMs += 299_999;
  t.is(((await call()).outcome as ApiError).code, 'API_KEY_BANNED');
  clock.nowMs += 1;
  t.is((await call()).outcome, RESPONSE);
});

test('limits - a request without a valid key counts against its address', async (t) => {
  const { callAnonymously, clock } = setUp(MIDNIGHT_MS);
  const reset = String(MIDNIGHT_MS / 1000 + 60);
  t.deepEqual(await callAnonymously(), {
    'x-ratelimit-limit': '3',
    'x-ratelimit-remaining': '2',
    'x-ratelimit-reset': reset,
  });
  await callAnonymously();
  await callAnonymously();
  const refused = (await callAnonymously()) as ApiError;
  t.is(refused.code, 'RATE_LIMITED');
  t.is(refused.quotaSubject, 'address:10.0.0.1');
  const other = await callAnonymously('10.0.0.2'); // another address has its own limit
  t.deepEqual(Object.keys(other as object).length, 3);
  clock.nowMs += 60_000;
  t.false((await callAnonymously()) instanceof ApiError);
});

test('limits - an operation that does not count shows the numbers', async (t) => {
  const { interceptor } = setUp();
  const caller = {
    keyId: toKeyId(1n),
    accountId: toAccountId(7n),
    plan: 'free' as const,
    quota: { perMinute: 2, perDay: 5 },
  };
  for (let i = 0; i < 5; i += 1) {
    const call = makeCall({ caller }, '/petstore.edge.v1.EdgeService/Fail');
    t.is(await interceptor.intercept(call, async () => RESPONSE), RESPONSE);
    t.is(call.responseHeaders.get('x-ratelimit-remaining'), '2');
  }
});

test('limits - a question about a caller counts only when it is refused', async (t) => {
  const { interceptor, call } = setUp();
  const caller = {
    keyId: toKeyId(1n),
    accountId: toAccountId(7n),
    plan: 'free' as const,
    quota: { perMinute: 2, perDay: 5 },
  };
  const judge = () =>
    interceptor.intercept(makeCall({ caller }, '/petstore.edge.v1.EdgeService/Judge'), async () => RESPONSE);
  for (let i = 0; i < 30; i += 1) t.is(await judge(), RESPONSE);
  for (let i = 0; i < 2; i += 1) t.is((await call()).outcome, RESPONSE);
  for (let i = 0; i < 20; i += 1)
    await t.throwsAsync(judge, { instanceOf: ApiError, message: /limit of 2 per minute/ });
  t.is(((await call()).outcome as ApiError).code, 'API_KEY_BANNED');
});

test('limits - a question about an anonymous caller counts against the address', async (t) => {
  const { anonymous } = setUp();
  const judge = () => makeCall({}, '/petstore.edge.v1.EdgeService/Judge');
  for (let i = 0; i < 3; i += 1) await anonymous.count(judge(), false);
  await t.throwsAsync(anonymous.count(judge(), false), { instanceOf: ApiError, message: /limit of 3 per minute/ });
});

test('limits - a call past its share of the open calls is a 429 with the limits, and is not counted', async (t) => {
  const { anonymous, call, fill } = setUp();
  fill();
  const { outcome, headers } = await call();
  t.is((outcome as ApiError).message, 'the limit of 50 at a time is used up: try again in 1 s');
  t.like(headers, { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '2' });
  const refused = makeCall({});
  await t.throwsAsync(anonymous.hold(refused, false), { instanceOf: ApiError, message: /50 at a time/ });
  t.is(refused.responseHeaders.get('x-ratelimit-remaining'), '3');
});

test('limits - a request whose key is being looked up shows the numbers of its address', async (t) => {
  const { anonymous } = setUp();
  const lookUp = Promise.withResolvers<undefined>();
  const call = makeCall({});
  call.metadata.set('authorization', 'Bearer pst_key');
  const keys = { identify: () => lookUp.promise };
  const outcome = authentication(keys, anonymous).intercept(call, async () => RESPONSE);
  await new Promise(setImmediate);
  t.is(call.responseHeaders.get('x-ratelimit-limit'), '3');
  t.is(call.responseHeaders.get('x-ratelimit-remaining'), '3', 'it is not counted yet');
  lookUp.resolve(undefined);
  await t.throwsAsync(outcome, { message: /not valid/ });
  t.is(call.responseHeaders.get('x-ratelimit-remaining'), '2');
});

test('limits - a call without a caller is an internal error, and does not pass', async (t) => {
  const { interceptor } = setUp();
  await t.throwsAsync(
    interceptor.intercept(makeCall({}), async () => RESPONSE),
    { message: /without a caller/ },
  );
});
