import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { apiError, type ErrorCode } from '../../src/errors.ts';
import type { Call } from '../../src/interceptors/chain.ts';
import { idempotency } from '../../src/interceptors/idempotency.ts';
import type { IdempotencyRecord } from '../../src/model.ts';
import type { Store } from '../../src/storage/store.ts';
import { AlreadyDone } from '../../src/storage/store-errors.ts';
import { jsonCodec, newCall, RESPONSE } from '../support/call.ts';
import { createTestStore } from '../support/database.ts';

const test = anyTest as TestFn<{ store: Store }>;
type Test = ExecutionContext<{ store: Store }>;

test.beforeEach(async (t) => {
  t.context = { store: await createTestStore() };
});
test.afterEach.always((t) => t.context.store.close());

const CREATE = 'CategoryService/CreateCategory';
const CATS = Categories.createCategory.requestSerialize({ category: { name: 'Cats' } });

interface Sent {
  readonly bytes?: Uint8Array;
  readonly path?: string;
  readonly accountId?: bigint;
}

function callWith(key: string | undefined, { bytes = CATS, path = CREATE, accountId = 1n }: Sent = {}): Call {
  const call = newCall(path, { bytes, metadata: key === undefined ? {} : { 'idempotency-key': key } });
  call.caller = { keyId: 1n, accountId, plan: 'free', quota: { perMinute: 1, perDay: 1 } };
  return call;
}

const isReplayed = (call: Call) => call.responseHeaders.get('idempotency-replayed') === 'true';

/** The interceptor, before work that creates a category and counts how often it was asked. */
function setUp({ context: { store } }: Test, before: () => Promise<void> = async () => undefined) {
  const interceptor = idempotency(store.idempotency);
  let works = 0;
  const next = async ({ isCancelled, remember }: Call) => {
    works += 1;
    await before();
    const create = async (tx: Parameters<Parameters<Store['write']>[0]>[0]) => {
      const { id } = await tx.categories.insert({ name: 'Cats', description: undefined });
      return { id: Number(id) };
    };
    const message = await store.write(create, isCancelled, remember);
    return { message, bytes: jsonCodec.serialize(message) };
  };
  return {
    send: (call: Call) => interceptor.intercept(call, next),
    countWorks: () => works,
    countThings: async () => (await store.categories.page({ after: 0n, limit: 100 })).rows.length,
  };
}

async function isRefused(t: Test, code: ErrorCode, response: Promise<unknown>): Promise<void> {
  t.like(await t.throwsAsync(response), { code });
}

test('Idempotency - a call without a key is done each time, and leaves no record', async (t) => {
  const { send, countThings } = setUp(t);
  for (const _ of [1, 2]) {
    const call = callWith(undefined);
    await send(call);
    t.is(call.remember, undefined);
    t.false(isReplayed(call));
  }
  t.is(await countThings(), 2);
});

test('Idempotency - a replay does no work, and gets the same answer', async (t) => {
  const { send, countWorks, countThings } = setUp(t);
  const first = callWith('a');
  const response = await send(first);
  t.false(isReplayed(first));
  for (const _ of [1, 2, 3]) {
    const call = callWith('a');
    t.deepEqual(await send(call), response);
    t.true(isReplayed(call));
  }
  t.is(countWorks(), 1);
  t.is(await countThings(), 1);
});

test('Idempotency - another request with the same key is refused, and changes nothing', async (t) => {
  const { send, countThings } = setUp(t);
  await send(callWith('a'));
  const bytes = Categories.createCategory.requestSerialize({ category: { name: 'Dogs' } });
  await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('a', { bytes })));
  t.is(await countThings(), 1);
  t.true(isReplayed(await sent(send, callWith('a'))), 'the first one is remembered still');
});

async function sent(send: (call: Call) => Promise<unknown>, call: Call): Promise<Call> {
  await send(call);
  return call;
}

test('Idempotency - a key is per account and operation', async (t) => {
  const { send, countThings } = setUp(t);
  const bytes = new Uint8Array();
  const order = { bytes, path: 'OrderService/PlaceOrder' };
  for (const call of [callWith('a'), callWith('a', { accountId: 2n }), callWith('a', order), callWith('A')]) {
    t.false(isReplayed(await sent(send, call)));
  }
  t.is(await countThings(), 4);
});

test('Idempotency - the same message is the same request, whatever its bytes: order, unknown fields, parts', async (t) => {
  const { send } = setUp(t);
  const text = (field: number, value: string) =>
    Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), Buffer.from(value)]);
  const category = (...parts: Buffer[]) => {
    const bytes = Buffer.concat(parts);
    return Buffer.concat([Buffer.from([(1 << 3) | 2, bytes.length]), bytes]);
  };
  const [name, description, unknown] = [text(1, 'Cats'), text(2, 'They purr.'), text(9, 'nobody knows')];
  await send(callWith('a', { bytes: category(name, description) }));
  for (const bytes of [
    category(description, name),
    category(name, unknown, description),
    Buffer.concat([unknown, category(name, description), unknown]),
    Buffer.concat([category(name), category(description)]), // protobuf merges them
    category(text(1, 'Dogs'), name, description), // the last one counts
  ]) {
    t.true(isReplayed(await sent(send, callWith('a', { bytes }))), bytes.toString('hex'));
  }
  for (const bytes of [category(name), category(name, text(2, '')), category(name, text(2, 'They purr'))]) {
    await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('a', { bytes })));
  }
});

test('Idempotency - an absent field and its default are different requests', async (t) => {
  const { send } = setUp(t);
  const of = (description: string | undefined) =>
    Categories.createCategory.requestSerialize({ category: { name: 'Cats', description } });
  await send(callWith('absent', { bytes: of(undefined) }));
  await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('absent', { bytes: of('') })));
  await send(callWith('default', { bytes: of('') }));
  await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('default', { bytes: of(undefined) })));
});

const NO_KEYS = ['', ' ', 'a b', 'a,b', ',', 'x'.repeat(256)];

test('Idempotency - anything but 1 to 255 visible ASCII characters without a comma is a 400 that names the header', async (t) => {
  const { send, countThings } = setUp(t);
  for (const key of NO_KEYS) {
    const error = await t.throwsAsync(send(callWith(key)), undefined, key);
    t.like(error, { code: 'INVALID_ARGUMENT', violations: [{ path: 'idempotency-key', name: 'idempotency-key' }] });
    t.regex(error?.message ?? '', /^idempotency-key: must be .*1 to 255/);
  }
  const twice = callWith('a');
  twice.metadata.add('idempotency-key', 'b');
  await isRefused(t, 'INVALID_ARGUMENT', send(twice));
  t.is(await countThings(), 0);
  const allowed = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter((c) => c !== ',');
  for (const key of [...allowed, allowed.join(''), 'x'.repeat(255)]) await send(callWith(key));
  t.is(await countThings(), 95);
});

test('Idempotency - other operations ignore the header, whatever it says', async (t) => {
  const { send } = setUp(t);
  for (const path of ['PetService/ReplacePet', 'OrderService/CancelOrder', 'InventoryService/SetInventory']) {
    for (const key of ['a', 'a', ...NO_KEYS]) {
      const call = callWith(key, { path, bytes: new Uint8Array() });
      await send(call);
      t.is(call.remember, undefined);
      t.false(isReplayed(call));
    }
  }
});

test('Idempotency - of many at once with one key one does the work, and the others get the same answer', async (t) => {
  const { send, countWorks } = setUp(t);
  const calls = Array.from({ length: 50 }, () => callWith('a'));
  const answers = await Promise.all(calls.map(send));
  t.is(countWorks(), 1);
  t.is(new Set(answers.map(({ bytes }) => String(bytes))).size, 1);
  t.is(calls.filter(isReplayed).length, 49);
});

test('Idempotency - of two at once one of which asks for something else, that one is refused', async (t) => {
  const { send, countWorks } = setUp(t);
  const bytes = Categories.createCategory.requestSerialize({ category: { name: 'Dogs' } });
  const first = send(callWith('a'));
  await isRefused(t, 'IDEMPOTENCY_KEY_REUSED', send(callWith('a', { bytes })));
  await first;
  t.is(countWorks(), 1);
});

test('Idempotency - a refusal is not remembered: the key is free, and the next that waits does the work itself', async (t) => {
  let refusals = 2;
  const { send, countWorks, countThings } = setUp(t, async () => {
    refusals -= 1;
    if (refusals >= 0) throw apiError('UNKNOWN_CATEGORY', { categoryId: 1n });
  });
  const settled = await Promise.allSettled(Array.from({ length: 10 }, () => send(callWith('a'))));
  t.is(settled.filter(({ status }) => status === 'rejected').length, 2);
  t.is(countWorks(), 3);
  t.is(await countThings(), 1);
  t.true(isReplayed(await sent(send, callWith('a'))));
});

/** An interceptor whose records another server may write: its first look finds nothing. */
function besideAnother({ context: { store } }: Test) {
  let looks = 0;
  const late = { find: async (id: string) => (looks++ === 0 ? undefined : store.idempotency.find(id)) };
  return idempotency(late);
}

test('Idempotency - what another server has done meanwhile is the response, also where it is why this one was refused', async (t) => {
  const { send, countThings } = setUp(t);
  const response = await send(callWith('a'));
  for (const error of [new AlreadyDone(), apiError('INSUFFICIENT_STOCK', { petId: 1n, wanted: 1, inStock: 0 })]) {
    const call = callWith('a');
    t.deepEqual(await besideAnother(t).intercept(call, () => Promise.reject(error)), response);
    t.true(isReplayed(call));
  }
  t.is(await countThings(), 1);
});

test("Idempotency - a failure that is not the request's own is passed on as it is", async (t) => {
  const failure = new Error('disk on fire');
  const failing = idempotency(t.context.store.idempotency).intercept(callWith('a'), () => Promise.reject(failure));
  await t.throwsAsync(failing, { is: failure });
});

test('Idempotency - an operation that does not remember its response is a fault, not a promise that is not kept', async (t) => {
  const forgetful = idempotency(t.context.store.idempotency).intercept(callWith('a'), async () => RESPONSE);
  await t.throwsAsync(forgetful, { message: /CreateCategory does not remember/ });
});

test('Idempotency - a record has the time at which it was made, and neither the key nor the request', async (t) => {
  let record: IdempotencyRecord | undefined;
  const remembering = idempotency(t.context.store.idempotency, () => 1_234);
  await remembering.intercept(callWith('a-key'), async ({ remember }: Call) => {
    record = remember?.({ id: 7 });
    return RESPONSE;
  });
  t.is(record?.createdAtMs, 1_234);
  t.regex(record?.id ?? '', /^[\w-]{43}$/);
  t.is(record?.requestDigest.length, 32);
  t.deepEqual(record?.answer, Buffer.from('{"id":7}'));
});
