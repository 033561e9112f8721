/** What the interceptor makes of a limiter's decisions; the rules are in the suite of all limiters. */
import test from 'ava';
import { authentication } from '../../../src/platform/access/interceptors/authentication.ts';
import { limits } from '../../../src/platform/access/interceptors/limits.ts';
import { createMemoryLimiter } from '../../../src/platform/access/limits/memory.ts';
import { type ApiError, AT_A_TIME, apiError } from '../../../src/platform/errors.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Call } from '../../../src/platform/rpc/chain.ts';
import { newCall, RESPONSE } from '../../support/service/call.ts';
import { withinOneMinute } from '../../support/service/limit-windows.ts';

const BAN = { refusals: 20, windowMs: 60_000, graceMs: 0, durationMs: 300_000 };
const CALLER = {
  keyId: toKeyId(1n),
  accountId: toAccountId(7n),
  plan: 'free',
  quota: { perMinute: 2, perDay: 5 },
} as const;
const JUDGE = '/apiplatform.edge.v1.EdgeService/Judge';

test.beforeEach(() => withinOneMinute(5_000));

function headersOf({ responseHeaders }: Call): (number | undefined)[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(responseHeaders.get(`x-ratelimit-${name}`)));
}

const minuteEnd = () => Math.ceil(Date.now() / 60_000) * 60;

/** The interceptor with a memory limiter. `isFull`: the shares of open calls are used up. */
function setUp(isFull = false) {
  const limiter = createMemoryLimiter({ ban: BAN });
  const takeShare = () => {
    if (isFull) throw apiError('RATE_LIMITED', { limit: 50, window: AT_A_TIME, retryAfterSeconds: 1 });
    return () => undefined;
  };
  const shares = { holdForAddress: takeShare, holdForAccount: () => void takeShare() };
  const { interceptor, keyless, anonymous } = limits(limiter, {
    shares,
    addressPerMinute: 3,
    onBan: () => undefined,
  });
  const send = async (path = 'PetService/GetPet') => {
    const call = { ...newCall(path), caller: CALLER };
    const outcome = await interceptor(call, async () => RESPONSE).catch((error: unknown) => error as ApiError);
    return { outcome, headers: headersOf(call) };
  };
  const anonymously = async () => {
    const call = newCall('PetService/GetPet');
    const outcome = await anonymous.hold(call, false).catch((error: unknown) => error as ApiError);
    return { outcome, headers: headersOf(call) };
  };
  const withoutKey = (path: string) => keyless(newCall(path), async () => RESPONSE);
  return { anonymous, send, anonymously, withoutKey };
}

test('limits - an operation that does not count shows the numbers', async (t) => {
  const { send } = setUp();
  for (let i = 0; i < 5; i += 1) {
    t.deepEqual(await send('/apiplatform.edge.v1.EdgeService/Fail'), {
      outcome: RESPONSE,
      headers: [2, 2, minuteEnd()],
    });
  }
});

test('limits - a question about a caller counts only when it is refused', async (t) => {
  const { send } = setUp();
  for (let i = 0; i < 30; i += 1) t.is((await send(JUDGE)).outcome, RESPONSE);
  for (let i = 0; i < 2; i += 1) t.is((await send()).outcome, RESPONSE);
  for (let i = 0; i < 20; i += 1) t.is(((await send(JUDGE)).outcome as ApiError).code, 'RATE_LIMITED');
  t.is(((await send()).outcome as ApiError).code, 'API_KEY_BANNED');
});

test('limits - a call past its share of the open calls is a 429 with the limits, and is not counted', async (t) => {
  const { send, anonymously, withoutKey } = setUp(true);
  const [known, unknown] = [await send(), await anonymously()];
  for (const { outcome } of [known, unknown]) {
    t.is((outcome as ApiError).message, 'the limit of 50 at a time is used up: try again in 1 s');
  }
  t.deepEqual([known.headers[1], unknown.headers[1]], [2, 3]);
  await t.throwsAsync(withoutKey('/grpc.health.v1.Health/Watch'), { message: /50 at a time/ });
});

test('limits - a request whose key is being looked up shows the numbers of its address', async (t) => {
  const lookUp = Promise.withResolvers<undefined>();
  const call = newCall('PetService/GetPet', { metadata: { authorization: 'Bearer pst_key' } });
  const interceptor = authentication({ identify: () => lookUp.promise }, setUp().anonymous);
  const outcome = interceptor(call, async () => RESPONSE);
  await new Promise(setImmediate);
  t.deepEqual(headersOf(call), [3, 3, minuteEnd()], 'it is not counted yet');
  lookUp.resolve(undefined);
  await t.throwsAsync(outcome, { message: /not valid/ });
  t.is(headersOf(call)[1], 2);
});
