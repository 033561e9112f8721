/** Native gRPC and gRPC-Web on the public port. What each method returns is tested over the private port. */
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../../gen/petstore/admin/v1/admin.ts';
import { EdgeServiceService as Edge } from '../../../gen/petstore/edge/v1/edge.ts';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import {
  ListPetsRequest,
  ListPetsResponse,
  PetStatus,
  PetServiceService as Pets,
} from '../../../gen/petstore/v1/pets.ts';
import { isError } from '../../support/contract.ts';
import { grpcFrame } from '../../support/hostile/sockets.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

test('gRPC - the public port accepts native calls, on the same store as REST', async (t) => {
  const { grpc, rest } = t.context;
  const category = await grpc.call(Categories.createCategory, { category: { name: ' Cats ' } });
  t.deepEqual((await rest.get(`/categories/${category.id}`)).body, { id: Number(category.id), name: 'Cats' });
  const petId = BigInt(await rest.pet({ categoryId: Number(category.id), status: 'sold' }));
  const { message: pet, headers } = await grpc.exchange(Pets.getPet, { petId });
  t.deepEqual(pet, { id: petId, name: 'Tom', categoryId: category.id, status: PetStatus.sold });
  t.deepEqual(headers.get('deprecation'), ['@1782864000']);
});

test('gRPC - next_page_token continues a list', async (t) => {
  const { grpc, rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const placed: bigint[] = [];
  for (let i = 0; i < 5; i += 1) placed.push(BigInt((await rest.order({ petId })).id));
  const listed: (bigint | undefined)[] = [];
  let pageToken = '';
  do {
    const page = await grpc.call(Orders.listOrders, { petId: BigInt(petId), limit: 2, pageToken });
    t.true(page.orders.length <= 2);
    listed.push(...page.orders.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  t.deepEqual(listed, placed);
});

test('gRPC - an error is a canonical status with its reason, and never the REST body', async (t) => {
  const { grpc } = t.context;
  const spoofed = { 'x-envoy-original-path': '/pets?colour=red', 'x-petstore-body-type': 'text/plain' };
  for (const metadata of [{}, spoofed]) {
    const failure = await grpc.failure(Pets.getPet, { petId: 999_999n }, { metadata });
    t.like(failure, { code: Status.NOT_FOUND, message: 'pet 999999 does not exist', reason: 'PET_NOT_FOUND' });
    t.deepEqual(failure.metadata.get('x-petstore-error'), []);
  }
  const anonymous = await grpc.withKey(undefined).failure(Pets.getPet, { petId: 1n });
  t.like(anonymous, { code: Status.UNAUTHENTICATED, reason: 'API_KEY_MISSING' });
});

const INTERNAL = [
  [Edge.refuse.path, Edge.refuse.requestSerialize({ method: 'GET', path: '/', status: 404, reply: '' } as never)],
  [Edge.fail.path, Edge.fail.requestSerialize({ status: 503 } as never)],
  [Admin.listAccounts.path, Buffer.of()],
] as const;

test('Internal methods - can not be called on the public port: by gRPC, by gRPC-Web or as JSON', async (t) => {
  const { grpc, rest } = t.context;
  for (const [path, request] of INTERNAL) {
    // A response by Envoy itself: no server was called.
    t.like(await grpc.failureOfBytes(path, request), { code: Status.UNIMPLEMENTED, reason: undefined }, path);
    t.like(await grpcWeb(t.context, path, request), { httpStatus: 404, message: undefined }); // maps to UNIMPLEMENTED
    isError(t, await rest.post(path, {}), 404, 'ROUTE_NOT_FOUND');
  }
});

/** A gRPC-Web call by hand: a frame is a byte of flags, four of length, and the message; 0x80 marks the trailers. */
async function grpcWeb(
  { rest, key }: TestStack,
  path: string,
  request: Uint8Array,
  { type = 'application/grpc-web+proto', authorization = `Bearer ${key}` } = {},
) {
  const frame = grpcFrame(request);
  const isText = type.startsWith('application/grpc-web-text');
  const response = await fetch(`${rest.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, accept: type, 'x-grpc-web': '1', authorization },
    body: isText ? frame.toString('base64') : Buffer.from(frame),
  });
  let bytes = Buffer.from(await response.arrayBuffer());
  if (isText) bytes = Buffer.from(bytes.toString(), 'base64');
  let message: Buffer | undefined;
  let trailers = '';
  while (bytes.length >= 5) {
    const end = 5 + bytes.readUInt32BE(1);
    if (bytes.readUInt8(0) === 0x80) trailers = bytes.subarray(5, end).toString();
    else message = bytes.subarray(5, end);
    bytes = bytes.subarray(end);
  }
  const code = /grpc-status: *(\d+)/i.exec(trailers)?.[1] ?? response.headers.get('grpc-status');
  return { httpStatus: response.status, headers: response.headers, message, code: Number(code) };
}

test('gRPC-Web - the public port supports it, in binary and in text', async (t) => {
  const petId = BigInt(await t.context.rest.pet());
  const request = ListPetsRequest.encode({ ids: [petId], pageToken: '' }).finish();
  for (const type of ['application/grpc-web+proto', 'application/grpc-web', 'application/grpc-web-text+proto']) {
    const { headers, code, message } = await grpcWeb(t.context, Pets.listPets.path, request, { type });
    t.regex(headers.get('content-type') ?? '', /^application\/grpc-web/);
    t.is(code, Status.OK);
    t.like(ListPetsResponse.decode(message ?? Buffer.of()).pets, [{ id: petId }]);
  }
});

test('gRPC-Web - an error is a gRPC status, and never the REST body', async (t) => {
  const none = ListPetsRequest.encode({ ids: [], limit: 0, pageToken: '' }).finish();
  const invalid = await grpcWeb(t.context, Pets.listPets.path, none);
  t.like(invalid, { code: Status.INVALID_ARGUMENT, message: undefined });
  t.false(invalid.headers.has('x-petstore-error'));
  const anonymous = await grpcWeb(t.context, Pets.listPets.path, none, { authorization: '' });
  t.like(anonymous, { code: Status.UNAUTHENTICATED, message: undefined });
});
