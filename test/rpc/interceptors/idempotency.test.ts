import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { anyError, type ErrorCode } from '../../../src/error-table.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Call, UnaryResponse } from '../../../src/platform/rpc/chain.ts';
import { idempotency } from '../../../src/platform/rpc/interceptors/idempotency.ts';
import type { IdempotencyRecord } from '../../../src/platform/storage/model.ts';
import { AlreadyDone } from '../../../src/platform/storage/store-errors.ts';
import type { Store } from '../../../src/schema.ts';
import { PUBLIC } from '../../support/contract/resources.ts';
import { createTestStore } from '../../support/machine/database.ts';
import { jsonCodec, newCall, RESPONSE, type TestCall } from '../../support/service/call.ts';

const test = anyTest as TestFn<{ store: Store }>;
type Test = ExecutionContext<{ store: Store }>;

test.beforeEach(async (t) => {
  t.context = { store: await createTestStore() };
});
test.afterEach.always((t) => t.context.store.close());

const CREATE = 'CategoryService/CreateCategory';
const CATS = Categories.createCategory.requestSerialize({ category: { name: 'Cats' } });

function callWith(key: string | undefined, { bytes = CATS as Uint8Array, path = CREATE } = {}): TestCall {
  const call = newCall(path, { bytes, metadata: key === undefined ? {} : { 'idempotency-key': key } });
  call.caller = { keyId: toKeyId(1n), accountId: toAccountId(1n), plan: 'free', quota: { perMinute: 1, perDay: 1 } };
  return call;
}

const isReplayed = (call: Call) => call.responseHeaders.get('idempotency-replayed') === 'true';

/** The interceptor with a handler that creates a category, and counts how often it runs. */
function setUp({ context: { store } }: Test, before: () => Promise<void> = async () => undefined) {
  const interceptor = idempotency(store.idempotency);
  let runs = 0;
  const next = async (call: Call) => {
    runs += 1;
    await before();
    const message = await store.forCall(call).write(async ({ categories }) => {
      const { id } = await categories.insert({ name: 'Cats', description: undefined });
      return { id: Number(id) };
    });
    return { message, bytes: jsonCodec.responseSerialize(message) };
  };
  return {
    send: async (call: Call) => (await interceptor(call, next)) as UnaryResponse,
    countRuns: () => runs,
    countCategories: async () => (await store.categories.page({ after: 0n, limit: 100 })).rows.length,
  };
}

async function isRefused(t: Test, code: ErrorCode, response: Promise<unknown>): Promise<void> {
  t.like(await t.throwsAsync(response), { code });
}

async function sent(send: (call: Call) => Promise<unknown>, call: Call): Promise<Call> {
  await send(call);
  return call;
}

test('Idempotency - unknown fields make no difference, an absent field and its default do', async (t) => {
  const { send } = setUp(t);
  const bytes = (description?: string) =>
    Categories.createCategory.requestSerialize({ category: { name: 'Cats', description } });
  await send(callWith('a', { bytes: bytes() }));
  const withUnknown = callWith('a', { bytes: Buffer.concat([bytes(), Buffer.of((9 << 3) | 2, 1, 0x78)]) });
  t.true(isReplayed(await sent(send, withUnknown)));
  await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('a', { bytes: bytes('') })));
});

const NO_KEYS = ['', ' ', 'a b', 'a,b', ',', 'x'.repeat(256)];

test('Idempotency - a key is 1 to 255 visible ASCII characters without a comma, else a 400', async (t) => {
  const { send, countCategories } = setUp(t);
  for (const key of NO_KEYS) {
    const error = await t.throwsAsync(send(callWith(key)), undefined, key);
    t.like(error, { code: 'INVALID_ARGUMENT', violations: [{ path: 'idempotency-key', name: 'idempotency-key' }] });
    t.regex(error?.message ?? '', /^idempotency-key: must be .*1 to 255/);
  }
  const twice = callWith('a');
  twice.metadata.add('idempotency-key', 'b');
  await isRefused(t, 'INVALID_ARGUMENT', send(twice));
  t.is(await countCategories(), 0);
  const allowed = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter((c) => c !== ',');
  for (const key of [...allowed, allowed.join(''), 'x'.repeat(255)]) await send(callWith(key));
  t.is(await countCategories(), 95);
});

test('Idempotency - other operations ignore the header, whatever its value', async (t) => {
  const { send } = setUp(t);
  for (const { path } of PUBLIC.filter(({ takesIdempotencyKey }) => !takesIdempotencyKey)) {
    for (const key of ['a', 'a', ...NO_KEYS]) {
      const call = await sent(send, callWith(key, { path, bytes: new Uint8Array() }));
      t.deepEqual([call.remember, isReplayed(call)], [undefined, false]);
    }
  }
});

/** An interceptor for which another server stores the record after the first look-up. */
function withOtherServer({ context: { store } }: Test) {
  let lookUps = 0;
  const late = { find: async (id: string) => (lookUps++ === 0 ? undefined : store.idempotency.find(id)) };
  return idempotency(late);
}

test('Idempotency - a call that fails because another server did the same gets the response of that', async (t) => {
  const { send, countCategories } = setUp(t);
  const response = await send(callWith('a'));
  for (const error of [new AlreadyDone(), anyError('INSUFFICIENT_STOCK', { petId: 1n, wanted: 1, inStock: 0 })]) {
    const call = callWith('a');
    t.deepEqual(await withOtherServer(t)(call, () => Promise.reject(error)), response);
    t.true(isReplayed(call));
  }
  t.is(await countCategories(), 1);
});

test('Idempotency - an unexpected failure is passed on; a response that is not remembered is one', async (t) => {
  const intercept = idempotency(t.context.store.idempotency);
  const failure = new Error('disk on fire');
  const failed = intercept(callWith('a'), () => Promise.reject(failure));
  await t.throwsAsync(failed, { is: failure });
  const forgetful = intercept(callWith('a'), async () => RESPONSE);
  await t.throwsAsync(forgetful, { message: /CreateCategory does not remember/ });
});

test('Idempotency - a record has its time of creation, and neither the key nor the request', async (t) => {
  let record: IdempotencyRecord | undefined;
  const remembering = idempotency(t.context.store.idempotency);
  const startMs = Date.now();
  await remembering(callWith('a-key'), async ({ remember }: Call) => {
    record = remember?.({ id: 7 });
    return RESPONSE;
  });
  t.true(Number(record?.createdAtMs) >= startMs);
  t.regex(record?.id ?? '', /^[\w-]{43}$/);
  t.is(record?.requestDigest.length, 32);
  t.deepEqual(record?.response, Buffer.from('{"id":7}'));
});
