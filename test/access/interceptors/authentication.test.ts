import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { authentication, operatorOnly } from '../../../src/access/interceptors/authentication.ts';
import { createApiKeyCache } from '../../../src/access/keys/api-key-cache.ts';
import { generateKey, hashKey } from '../../../src/access/keys/format.ts';
import { ApiError, apiError } from '../../../src/errors.ts';
import type { Call } from '../../../src/rpc/chain.ts';
import type { Store } from '../../../src/schema.ts';
import { handler, newCall, RESPONSE } from '../../support/call.ts';
import { createTestStore } from '../../support/database.ts';

const QUOTA = { perMinute: 60, perDay: 1_000 };
const OPERATOR_KEY = generateKey('pso');

interface Context {
  readonly store: Store;
  readonly accountId: bigint;
  readonly key: string;
}
const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const store = await createTestStore();
  const key = generateKey();
  const accountId = await store.transaction(async ({ accounts, keys }) => {
    const { id } = await accounts.insert({ name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 });
    const described = { prefix: 'pst_', label: undefined, createdAtMs: 0, expiresAtMs: undefined };
    await keys.insert({ ...described, accountId: id }, hashKey(key));
    return id;
  });
  t.context = { store, accountId, key };
});
test.after.always((t) => t.context.store.close());

/** Sends a call through authentication. Returns its outcome, the caller, and the calls that counted as anonymous. */
async function enter(
  { context }: ExecutionContext<Context>,
  authorization: string | undefined,
  onAnonymous = async () => {},
) {
  const plans = { free: QUOTA, pro: QUOTA, business: QUOTA };
  const { calls, next } = handler();
  const anonymousCalls: Call[] = [];
  const keys = createApiKeyCache(context.store.accounts, plans);
  const anonymous = {
    async count(call: Call) {
      anonymousCalls.push(call);
      await onAnonymous();
    },
    hold: async () => () => undefined,
    show: async () => undefined,
  };
  const interceptor = authentication(keys, anonymous);
  const call = newCall('PetService/GetPet', { metadata: authorization === undefined ? {} : { authorization } });
  const outcome = await interceptor.intercept(call, next).catch((error: ApiError) => error.code);
  return { outcome, caller: calls[0]?.caller, anonymousCalls };
}

test('Authentication - a call with a valid key passes, with its caller', async (t) => {
  const { outcome, caller, anonymousCalls } = await enter(t, `Bearer ${t.context.key}`);
  t.is(outcome, RESPONSE);
  t.like(caller, { accountId: t.context.accountId, quota: QUOTA });
  t.deepEqual(anonymousCalls, []);
});

test('Authentication - the scheme may be written in any case, with any number of spaces', async (t) => {
  for (const scheme of ['bearer ', 'BEARER ', 'Bearer   ']) {
    t.is((await enter(t, `${scheme}${t.context.key}`)).outcome, RESPONSE, scheme);
  }
});

test('Authentication - without a header of the form "Bearer KEY" a call is API_KEY_MISSING', async (t) => {
  const { key } = t.context;
  for (const header of [
    undefined,
    '',
    key,
    'Bearer',
    'Bearer ',
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer ${key} ${key}`,
  ]) {
    const { outcome, caller, anonymousCalls } = await enter(t, header);
    t.is(outcome, 'API_KEY_MISSING', header);
    t.is(caller, undefined);
    t.is(anonymousCalls.length, 1);
  }
});

test('Authentication - an unknown or malformed key is API_KEY_INVALID', async (t) => {
  const { key } = t.context;
  for (const wrong of [generateKey(), key.toLowerCase(), key.slice(0, -1), `${key}0`, `${key},`, 'x', OPERATOR_KEY]) {
    const { outcome, caller, anonymousCalls } = await enter(t, `Bearer ${wrong}`);
    t.is(outcome, 'API_KEY_INVALID', wrong);
    t.is(caller, undefined);
    t.is(anonymousCalls.length, 1);
  }
});

test('Authentication - the limits of anonymous callers are checked first', async (t) => {
  const refuse = () => Promise.reject(apiError('RATE_LIMITED', { limit: 60, window: 'minute', retryAfterSeconds: 1 }));
  for (const header of [undefined, 'Bearer x']) t.is((await enter(t, header, refuse)).outcome, 'RATE_LIMITED');
});

const RATE_LIMITED = () => apiError('RATE_LIMITED', { limit: 1, window: 'minute', retryAfterSeconds: 1 });

/** Sends a call through authentication at an address with a share of open calls; `isFull`: it is used up. */
async function enterHeld({ store }: Context, key: string, isFull: boolean) {
  const events: string[] = [];
  const found = createApiKeyCache(store.accounts, { free: QUOTA, pro: QUOTA, business: QUOTA });
  const keys = {
    identify(text: string, beforeLookUp?: () => Promise<void>) {
      events.push('look up');
      return found.identify(text, beforeLookUp);
    },
  };
  const interceptor = authentication(keys, {
    async count() {
      events.push('count');
      throw RATE_LIMITED();
    },
    async hold() {
      if (isFull) throw RATE_LIMITED();
      return () => events.push('release');
    },
    show: async () => undefined,
  });
  const call = newCall('PetService/GetPet', { metadata: { authorization: `Bearer ${key}` } });
  const outcome = await interceptor.intercept(call, handler().next).catch((error: ApiError) => error.code);
  return { outcome, events };
}

test('Authentication - at an address past its limit a valid key is served, and an invalid one is a 429', async (t) => {
  const { context } = t;
  const valid = await enterHeld(context, context.key, false);
  t.deepEqual(valid, { outcome: RESPONSE, events: ['look up', 'release'] });
  const invalid = await enterHeld(context, generateKey(), false);
  t.deepEqual(invalid, { outcome: 'RATE_LIMITED', events: ['look up', 'count'] });
});

test('Authentication - a call past the open calls of its address is a 429, whatever its key', async (t) => {
  for (const key of [t.context.key, generateKey(), 'x']) {
    const { outcome, events } = await enterHeld(t.context, key, true);
    t.is(outcome, 'RATE_LIMITED');
    t.false(events.includes('count'), 'it counts for nothing else');
  }
});

test('Authentication - past the open calls of its address nothing is looked up, nor fails unseen', async (t) => {
  const keys = createApiKeyCache(
    { findKey: () => Promise.reject(new Error('the database is away')) },
    { free: QUOTA, pro: QUOTA, business: QUOTA },
  );
  const anonymous = {
    count: async () => undefined,
    hold: () => Promise.reject(RATE_LIMITED()),
    show: async () => undefined,
  };
  const call = newCall('PetService/GetPet', { metadata: { authorization: `Bearer ${generateKey()}` } });
  const intercepted = authentication(keys, anonymous).intercept(call, handler().next);
  t.is(((await t.throwsAsync(intercepted, { instanceOf: ApiError })) as ApiError).code, 'RATE_LIMITED');
  t.is(keys.misses, 0);
});

test("Authentication - a feed's key is looked at again only once it is admitted", async (t) => {
  const looked = Promise.withResolvers<undefined>();
  const anonymous = { count: async () => undefined, hold: async () => () => undefined, show: async () => undefined };
  const call = newCall('EventService/WatchEvents', { metadata: { authorization: `Bearer ${generateKey()}` } });
  const slow = authentication({ identify: () => looked.promise }, anonymous).intercept(call, handler().next);
  t.is(call.identify, undefined, 'the sweep would end it as UNAVAILABLE');
  looked.resolve(undefined);
  t.is(((await t.throwsAsync(slow, { instanceOf: ApiError })) as ApiError).code, 'API_KEY_INVALID');
  const admitted = newCall('EventService/WatchEvents', { metadata: { authorization: `Bearer ${t.context.key}` } });
  const keys = createApiKeyCache(t.context.store.accounts, { free: QUOTA, pro: QUOTA, business: QUOTA });
  await authentication(keys, anonymous).intercept(admitted, handler().next);
  t.like(await admitted.identify?.(), { accountId: t.context.accountId });
});

test('Operator - a call with the operator key passes, any other is OPERATOR_KEY_INVALID', async (t) => {
  const anonymousCalls: Call[] = [];
  const interceptor = operatorOnly(OPERATOR_KEY, {
    async count(call) {
      anonymousCalls.push(call);
    },
  });
  const send = (metadata: Readonly<Record<string, string>>) =>
    interceptor.intercept(newCall('PetService/GetPet', { metadata }), handler().next);
  t.is(await send({ authorization: `Bearer ${OPERATOR_KEY}` }), RESPONSE);
  t.is(anonymousCalls.length, 0);
  const wrong = [t.context.key, generateKey('pso'), OPERATOR_KEY.slice(0, -1), `${OPERATOR_KEY}0`, 'x'];
  for (const metadata of [{}, ...wrong.map((key) => ({ authorization: `Bearer ${key}` }))]) {
    const error = await t.throwsAsync(send(metadata), { instanceOf: ApiError });
    t.is((error as ApiError).code, 'OPERATOR_KEY_INVALID');
  }
  t.is(anonymousCalls.length, wrong.length + 1);
});
