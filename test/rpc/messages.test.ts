/** Malformed, oversized and unusual messages, and the metadata of responses. */
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { CreatePetRequest, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { PUBLIC } from '../support/resources.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.before(async (t) => {
  t.context = await startTestServer();
});
test.after.always((t) => t.context.close());

const MAX_BYTES = 65_536;

test('Bytes - that are not a message are INVALID_ARGUMENT for every method, with rules and without', async (t) => {
  for (const { path } of PUBLIC.filter(({ isStream }) => !isStream)) {
    for (const bytes of [[0xff], [0x08], [0x08, 0x80], [0x9a, 0x06, 0x7f]]) {
      const failure = await t.context.grpc.failureOfBytes(path, Buffer.from(bytes));
      t.is(failure.code, Code.INVALID_ARGUMENT, `${path} ${bytes}`);
      t.is(failure.reason, 'MALFORMED_BODY', `${path} ${bytes}`);
    }
  }
});

test('Bytes - nested too deeply are refused, and the server keeps running', async (t) => {
  // Groups of an unknown field, each opened in the one before.
  const failure = await t.context.grpc.failureOfBytes(Pets.createPet.path, Buffer.alloc(60_000, 0x7b));
  t.is(failure.code, Code.INVALID_ARGUMENT);
  t.truthy(await t.context.grpc.category());
});

test('Fields - that are unknown are ignored', async (t) => {
  const { grpc } = t.context;
  const categoryId = await grpc.category();
  const known = CreatePetRequest.encode(CreatePetRequest.fromPartial({ pet: { name: 'Tom', categoryId } })).finish();
  const unknown = Buffer.from([0x98, 0x06, 0x2a]); // field 99, varint 42
  const created = await grpc.call(
    { ...Pets.createPet, requestSerialize: () => Buffer.concat([known, unknown]) },
    { pet: undefined },
  );
  t.is(created.name, 'Tom');
});

test('Text - that is not UTF-8 is refused', async (t) => {
  const bytes = Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0xff, 0x41]); // a category named "\xffA"
  const { code, reason } = await t.context.grpc.failureOfBytes(Categories.createCategory.path, bytes);
  t.is(code, Code.INVALID_ARGUMENT);
  t.is(reason, 'MALFORMED_BODY');
});

test('Messages - of more than 64 KiB are BODY_TOO_LARGE, after the key is checked', async (t) => {
  const { grpc } = t.context;
  const request = (bytes: number) => ({ category: { name: 'Cats', description: 'x'.repeat(bytes) } });
  const below = await grpc.failure(Categories.createCategory, request(MAX_BYTES - 100));
  t.is(below.reason, 'INVALID_ARGUMENT');
  t.true(below.message.length < 2_000);
  for (const bytes of [MAX_BYTES, 1_048_576, 3_145_728]) {
    const above = await grpc.failure(Categories.createCategory, request(bytes));
    t.is(above.code, Code.RESOURCE_EXHAUSTED);
    t.is(above.reason, 'BODY_TOO_LARGE');
    t.is(above.message, 'the request body is larger than 64 KiB');
    t.deepEqual(above.metadata.get('x-ratelimit-limit'), ['1000000']);
    const anonymous = grpc.withKey(undefined);
    t.is((await anonymous.failure(Categories.createCategory, request(bytes))).reason, 'API_KEY_MISSING');
    anonymous.close();
  }
});

test('Metadata - every response shows what is left of the quota', async (t) => {
  const { grpc } = t.context;
  const { headers } = await grpc.exchange(Categories.listCategories, { pageToken: '' });
  const { metadata } = await grpc.failure(Pets.getPet, { petId: 999_999n });
  for (const received of [headers, metadata]) {
    t.deepEqual(received.get('x-ratelimit-limit'), ['1000000']);
    for (const name of ['x-ratelimit-remaining', 'x-ratelimit-reset']) t.regex(String(received.get(name)), /^\d+$/);
  }
});

test('Deprecation - GetPet announces it in responses and errors, other methods do not', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet();
  const { headers } = await grpc.exchange(Pets.getPet, { petId });
  const { metadata } = await grpc.failure(Pets.getPet, { petId: 999_999n });
  for (const [received, id] of [
    [headers, petId],
    [metadata, 999_999n],
  ] as const) {
    t.deepEqual(received.get('deprecation'), ['@1782864000']);
    t.deepEqual(received.get('sunset'), ['Fri, 31 Dec 2027 23:59:59 GMT']);
    t.deepEqual(received.get('link'), [`</pets?ids=${id}>; rel="successor-version"`]);
  }
  const other = await grpc.exchange(Pets.listPets, { ids: [petId], pageToken: '' });
  for (const name of ['deprecation', 'sunset', 'link']) t.deepEqual(other.headers.get(name), []);
});
