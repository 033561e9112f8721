/** Errors and messages over gRPC: the canonical code, the same message as over REST, standard details. */
import { status as Code } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { PUBLIC } from '../support/resources.ts';
import { serverTest } from '../support/shared-stack.ts';

const test = serverTest();

const NOBODY = 999_999n;
const { UNAUTHENTICATED, NOT_FOUND, INVALID_ARGUMENT, FAILED_PRECONDITION, ABORTED, RESOURCE_EXHAUSTED } = Code;

test('Errors - are the canonical status that fits, with the reason and the message of REST', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet({ stock: 4 });
  const pet = { name: 'Tom', categoryId: NOBODY };
  const ifMatch = { metadata: { 'if-match': '"x"' } };
  const order = { petId, quantity: 12 };
  for (const [failing, code, reason, message] of [
    [grpc.failure(Pets.getPet, { petId: NOBODY }), NOT_FOUND, 'PET_NOT_FOUND', /^pet 999999 does not exist$/],
    [grpc.failure(Pets.createPet, { pet }), INVALID_ARGUMENT, 'UNKNOWN_CATEGORY', /^categoryId: category 999999 does/],
    [grpc.failure(Orders.placeOrder, { order }), FAILED_PRECONDITION, 'INSUFFICIENT_STOCK', /12 is more than the 4 in/],
    [grpc.failure(Pets.updatePet, { petId, pet }, ifMatch), ABORTED, 'PRECONDITION_FAILED', /has the ETag "[\w-]{22}"/],
  ] as const) {
    const failure = await failing;
    t.deepEqual([failure.code, failure.reason, failure.domain], [code, reason, 'petstore']);
    t.regex(failure.message, message);
    t.deepEqual(failure.metadata.get('x-petstore-error'), [], 'a header of the REST side');
  }
});

test('INVALID_ARGUMENT - names every field with a violation by its path', async (t) => {
  const { grpc } = t.context;
  const failure = await grpc.failure(Pets.createPet, { pet: { name: '', status: 0 } });
  t.regex(failure.message, /^name: .*; categoryId: .*; status: /);
  t.deepEqual(failure.fields, ['pet.name', 'pet.categoryId', 'pet.status']);
  for (const nanos of [-1, 1_000_000_000]) {
    const order = { shipDate: { seconds: 0n, nanos } };
    t.deepEqual((await grpc.failure(Orders.placeOrder, { order })).fields, ['order.shipDate']);
  }
});

test('UNAUTHENTICATED - with the challenge, before every other error', async (t) => {
  const { grpc } = t.context;
  for (const [key, reason] of [
    [undefined, 'API_KEY_MISSING'],
    [generateKey(), 'API_KEY_INVALID'],
    ['Bearer', 'API_KEY_INVALID'],
  ] as const) {
    const caller = grpc.withKey(key);
    for (const failure of [
      await caller.failure(Pets.getPet, { petId: NOBODY }),
      await caller.failure(Pets.createPet, { pet: undefined }),
      await caller.failureOfBytes(Pets.createPet.path, Buffer.of(0xff)),
    ]) {
      t.like(failure, { code: UNAUTHENTICATED, reason });
      t.deepEqual(failure.metadata.get('www-authenticate'), ['Bearer']);
    }
  }
});

test('UNIMPLEMENTED - a method that does not exist, and a question of Envoy for Envoy alone', async (t) => {
  const { grpc } = t.context;
  const anonymous = grpc.withKey(undefined);
  const judge = '/petstore.edge.v1.EdgeService/Judge';
  for (const path of ['/petstore.v1.PetService/Fly', '/a.b.C/D', '/', judge]) {
    if (path !== judge) t.like(await anonymous.failureOfBytes(path, Buffer.of()), { code: UNAUTHENTICATED });
    t.like(await grpc.failureOfBytes(path, Buffer.of()), { code: Code.UNIMPLEMENTED, reason: 'ROUTE_NOT_FOUND' });
  }
});

test('Messages - that can not be read are MALFORMED_BODY for every method, with rules and without', async (t) => {
  const { grpc } = t.context;
  const notUtf8 = Buffer.of(0x0a, 0x04, 0x0a, 0x02, 0xff, 0x41); // a category named "\xffA"
  const cases = PUBLIC.filter(({ isStream }) => !isStream).flatMap(({ path }) =>
    [[0xff], [0x08], [0x08, 0x80], [0x9a, 0x06, 0x7f]].map((bytes) => [path, Buffer.from(bytes)] as const),
  );
  // The last one: groups of an unknown field, each opened in the one before.
  for (const [path, bytes] of [
    ...cases,
    [Categories.createCategory.path, notUtf8] as const,
    [Pets.createPet.path, Buffer.alloc(60_000, 0x7b)] as const,
  ]) {
    const failure = await grpc.failureOfBytes(path, bytes);
    t.like(failure, { code: INVALID_ARGUMENT, reason: 'MALFORMED_BODY' }, `${path} ${bytes.toString('hex', 0, 9)}`);
  }
  t.truthy(await grpc.category(), 'the server keeps running');
});

test('Messages - of more than 64 KiB are BODY_TOO_LARGE, after the key is checked', async (t) => {
  const { grpc } = t.context;
  const request = (bytes: number) => ({ category: { name: 'Cats', description: 'x'.repeat(bytes) } });
  const below = await grpc.failure(Categories.createCategory, request(65_436));
  t.is(below.reason, 'INVALID_ARGUMENT');
  t.true(below.message.length < 2_000);
  for (const bytes of [65_536, 1_048_576, 3_145_728]) {
    const above = await grpc.failure(Categories.createCategory, request(bytes));
    t.like(above, { code: RESOURCE_EXHAUSTED, reason: 'BODY_TOO_LARGE' });
    t.is(above.message, 'the request body is larger than 64 KiB');
    t.deepEqual(above.metadata.get('x-ratelimit-limit'), ['1000000']);
    const anonymous = await grpc.withKey(undefined).failure(Categories.createCategory, request(bytes));
    t.is(anonymous.reason, 'API_KEY_MISSING');
  }
});
