import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { ApiError, apiError } from '../../src/errors.ts';
import { authentication } from '../../src/interceptors/authentication.ts';
import type { Call } from '../../src/interceptors/chain.ts';
import { operatorOnly } from '../../src/interceptors/operator.ts';
import { createApiKeyCache } from '../../src/keys/api-key-cache.ts';
import { generateKey, hashKey } from '../../src/keys/format.ts';
import type { Store } from '../../src/storage/store.ts';
import { handler, newCall, RESPONSE } from '../support/call.ts';
import { createTestStore } from '../support/database.ts';

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
  const accountId = await store.transaction(async ({ accounts }) => {
    const { id } = await accounts.insert({ name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 });
    const described = { prefix: 'pst_', label: undefined, createdAtMs: 0, expiresAtMs: undefined };
    await accounts.insertKey({ ...described, accountId: id }, hashKey(key));
    return id;
  });
  t.context = { store, accountId, key };
});
test.after.always((t) => t.context.store.close());

/** Sends a call through authentication and says how it ended, who was let through, and who was told as a stranger. */
async function enter(
  { context }: ExecutionContext<Context>,
  authorization: string | undefined,
  onStranger = async () => {},
) {
  const plans = { free: QUOTA, pro: QUOTA, business: QUOTA };
  const { calls, next } = handler();
  const strangers: Call[] = [];
  const keys = createApiKeyCache(context.store.accounts, plans);
  const anonymous = {
    async count(call: Call) {
      strangers.push(call);
      await onStranger();
    },
    reserve: async () => undefined,
    show: async () => undefined,
    release: () => undefined,
  };
  const interceptor = authentication(keys, anonymous);
  const call = newCall('PetService/GetPet', { metadata: authorization === undefined ? {} : { authorization } });
  const outcome = await interceptor.intercept(call, next).catch((error: ApiError) => error.code);
  return { outcome, caller: calls[0]?.caller, strangers };
}

test('Authentication - a valid key lets the call through, with its caller', async (t) => {
  const { outcome, caller, strangers } = await enter(t, `Bearer ${t.context.key}`);
  t.is(outcome, RESPONSE);
  t.like(caller, { accountId: t.context.accountId, quota: QUOTA });
  t.deepEqual(strangers, []);
});

test('Authentication - the scheme may be written in any case, with any number of spaces', async (t) => {
  for (const scheme of ['bearer ', 'BEARER ', 'Bearer   ']) {
    t.is((await enter(t, `${scheme}${t.context.key}`)).outcome, RESPONSE, scheme);
  }
});

test('Authentication - no header, or not Bearer and a key, is API_KEY_MISSING', async (t) => {
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
    const { outcome, caller, strangers } = await enter(t, header);
    t.is(outcome, 'API_KEY_MISSING', header);
    t.is(caller, undefined);
    t.is(strangers.length, 1);
  }
});

test('Authentication - a key that nobody has, or that is none, is API_KEY_INVALID', async (t) => {
  const { key } = t.context;
  for (const wrong of [generateKey(), key.toLowerCase(), key.slice(0, -1), `${key}0`, `${key},`, 'x', OPERATOR_KEY]) {
    const { outcome, caller, strangers } = await enter(t, `Bearer ${wrong}`);
    t.is(outcome, 'API_KEY_INVALID', wrong);
    t.is(caller, undefined);
    t.is(strangers.length, 1);
  }
});

test('Authentication - whoever is told of strangers may refuse them first', async (t) => {
  const refuse = () => Promise.reject(apiError('RATE_LIMITED', { limit: 60, window: 'minute', retryAfterSeconds: 1 }));
  for (const header of [undefined, 'Bearer x']) t.is((await enter(t, header, refuse)).outcome, 'RATE_LIMITED');
});

test('Authentication - a key that the limits of its address forbid to look up is refused with their 429', async (t) => {
  const { store, key } = t.context;
  const keys = createApiKeyCache(store.accounts, { free: QUOTA, pro: QUOTA, business: QUOTA });
  const released: Call[] = [];
  const interceptor = authentication(keys, {
    count: () => Promise.reject(new Error('not to be counted twice')),
    reserve: () => Promise.reject(apiError('RATE_LIMITED', { limit: 60, window: 'minute', retryAfterSeconds: 1 })),
    show: async () => undefined,
    release: (call) => released.push(call),
  });
  const call = newCall('PetService/GetPet', { metadata: { authorization: `Bearer ${key}` } });
  const error = await t.throwsAsync(interceptor.intercept(call, handler().next), { instanceOf: ApiError });
  t.is((error as ApiError).code, 'RATE_LIMITED');
  t.deepEqual(released, [call]);
});

test('Operator - the key lets the call through, any other is OPERATOR_KEY_INVALID', async (t) => {
  const strangers: Call[] = [];
  const interceptor = operatorOnly(OPERATOR_KEY, {
    async count(call) {
      strangers.push(call);
    },
  });
  const send = (metadata: Readonly<Record<string, string>>) =>
    interceptor.intercept(newCall('PetService/GetPet', { metadata }), handler().next);
  t.is(await send({ authorization: `Bearer ${OPERATOR_KEY}` }), RESPONSE);
  t.is(strangers.length, 0);
  const wrong = [t.context.key, generateKey('pso'), OPERATOR_KEY.slice(0, -1), `${OPERATOR_KEY}0`, 'x'];
  for (const metadata of [{}, ...wrong.map((key) => ({ authorization: `Bearer ${key}` }))]) {
    const error = await t.throwsAsync(send(metadata), { instanceOf: ApiError });
    t.is((error as ApiError).code, 'OPERATOR_KEY_INVALID');
  }
  t.is(strangers.length, wrong.length + 1);
});
