/** Conditional requests over gRPC: the metadata `etag` and `if-match`. */
import { once } from 'node:events';
import { connect, type OutgoingHttpHeaders } from 'node:http2';
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import type { Method, Partly } from '../support/grpc.ts';
import { grpcFrame, grpcHeaders } from '../support/hostile/sockets.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.before(async (t) => {
  t.context = await startTestServer();
});
test.after.always((t) => t.context.close());

async function etag<Q, A>({ grpc }: TestServer, method: Method<Q, A>, request: Partly<Q>): Promise<unknown> {
  return (await grpc.exchange(method, request)).headers.get('etag')[0];
}

test('etag - is in the metadata of every response with one pet, category, order or inventory entry', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet();
  const categoryId = await grpc.category();
  const orderId = await grpc.order();
  const tags = [
    await etag(t.context, Pets.getPet, { petId }),
    await etag(t.context, Pets.updatePet, { petId, pet: undefined }),
    await etag(t.context, Categories.createCategory, { category: { name: 'Cats' } }),
    await etag(t.context, Categories.replaceCategory, { categoryId, category: { name: 'Cats' } }),
    await etag(t.context, Orders.placeOrder, { order: undefined }),
    await etag(t.context, Orders.getOrder, { orderId }),
    await etag(t.context, Inventory.setInventory, { petId, inventory: { quantity: 3 } }),
  ];
  for (const tag of tags) t.regex(String(tag), /^"[\w-]{22}"$/);
  t.is(await etag(t.context, Pets.listPets, { ids: [], pageToken: '' }), undefined);
  t.is(await etag(t.context, Orders.cancelOrder, { orderId }), undefined);
});

test('if-match - that does not match is ABORTED with the reason PRECONDITION_FAILED', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet();
  const request = { petId, pet: { name: 'Rex' } };
  const read = String(await etag(t.context, Pets.getPet, { petId }));
  const failure = await grpc.failure(Pets.updatePet, request, { metadata: { 'if-match': '"x"' } });
  t.deepEqual([failure.code, failure.reason, failure.domain], [Code.ABORTED, 'PRECONDITION_FAILED', 'petstore']);
  t.true(failure.message.includes(`has the ETag ${read} now`), failure.message);
  t.is((await grpc.call(Pets.getPet, { petId })).name, 'Tom');
  const changed = await grpc.exchange(Pets.updatePet, request, { metadata: { 'if-match': `"x", ${read}` } });
  t.is(changed.message.name, 'Rex');
  const again = await grpc.failure(Pets.deletePet, { petId }, { metadata: { 'if-match': read } });
  t.is(again.reason, 'PRECONDITION_FAILED');
  const now = String(changed.headers.get('etag')[0]);
  t.is((await grpc.failure(Pets.deletePet, { petId }, { metadata: { 'if-match': `W/${now}` } })).code, Code.ABORTED);
  t.deepEqual(await grpc.call(Pets.deletePet, { petId }, { metadata: { 'if-match': now } }), {});
  t.is((await grpc.failure(Pets.deletePet, { petId }, { metadata: { 'if-match': '*' } })).code, Code.NOT_FOUND);
});

test('if-match - that is malformed or empty is INVALID_ARGUMENT with its name', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet();
  for (const value of ['', ',', 'x', '*, "x"', '"x']) {
    const failure = await grpc.failure(Pets.deletePet, { petId }, { metadata: { 'if-match': value } });
    t.deepEqual([failure.code, failure.reason], [Code.INVALID_ARGUMENT, 'INVALID_ARGUMENT'], value);
    t.deepEqual(failure.fields, ['if-match']);
  }
});

/** Calls a method with header values that grpc-js would not send. Resolves with the gRPC status. */
async function rawStatus<Q>(
  { address, key }: TestServer,
  { path, requestSerialize }: { readonly path: string; readonly requestSerialize: (message: Q) => Buffer },
  message: Q,
  headers: OutgoingHttpHeaders,
): Promise<number> {
  const session = connect(`http://${address}`);
  const stream = session.request({ ...grpcHeaders(path, key), ...headers });
  let sent: OutgoingHttpHeaders = {};
  stream.on('response', (received) => (sent = received)).on('trailers', (received) => (sent = received));
  stream.end(grpcFrame(requestSerialize(message)));
  await once(stream.resume(), 'end');
  session.destroy();
  return Number(sent['grpc-status']);
}

test('if-match and idempotency-key - with bytes that metadata can not have they are not ignored', async (t) => {
  const { grpc } = t.context;
  const categoryId = BigInt(await grpc.category());
  const change = { categoryId, category: { name: 'Changed' } };
  for (const [value, code] of [
    ['\u00e9', Code.INVALID_ARGUMENT],
    ['"a"\u00e9', Code.INVALID_ARGUMENT],
    ['"\u00e9"', Code.ABORTED],
    ['"a",\t"b"', Code.ABORTED],
  ] as const) {
    t.is(await rawStatus(t.context, Categories.replaceCategory, change, { 'if-match': value }), code, value);
  }
  t.not((await grpc.call(Categories.getCategory, { categoryId })).name, 'Changed');
  for (const value of ['caf\u00e9', '\u00e9', 'a\tb']) {
    const headers = { 'idempotency-key': value };
    const status = await rawStatus(t.context, Categories.createCategory, { category: { name: 'Cats' } }, headers);
    t.is(status, Code.INVALID_ARGUMENT, value);
  }
});
