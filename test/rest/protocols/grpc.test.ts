import { Client, Metadata, type ServiceError, status as Status } from '@grpc/grpc-js';
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
import { bearer, detailsOf, insecure, unary } from '../../support/grpc.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack & { grpc: Client }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, grpc: new Client(stack.publicAddress, insecure) };
});
test.after.always(async ({ context }) => {
  context.grpc.close();
  await context.close();
});

test('gRPC - the public port accepts native calls, on the same store as REST', async (t) => {
  const { grpc, key, rest } = t.context;
  const { message: category } = await unary(
    grpc,
    Categories.createCategory,
    { category: { name: ' Cats ' } },
    bearer(key),
  );
  t.deepEqual((await rest.get(`/categories/${category.id}`)).body, { id: Number(category.id), name: 'Cats' });
  const petId = await rest.pet({ categoryId: Number(category.id), status: 'sold' });
  const { message: pet, headers } = await unary(grpc, Pets.getPet, { petId: BigInt(petId) }, bearer(key));
  t.deepEqual(pet, { id: BigInt(petId), name: 'Tom', categoryId: category.id, status: PetStatus.sold });
  t.deepEqual(headers.get('deprecation'), ['@1782864000']);
  const list = { ids: [], categoryId: category.id, pageToken: '' };
  t.deepEqual((await unary(grpc, Pets.listPets, list, bearer(key))).message, { pets: [pet], nextPageToken: '' });
});

test('gRPC - next_page_token continues a list', async (t) => {
  const { grpc, key, rest } = t.context;
  const petId = BigInt(await rest.pet({ stock: 5 }));
  for (let i = 0; i < 5; i += 1) await rest.order({ petId: Number(petId) });
  const ids: (bigint | undefined)[] = [];
  let pageToken = '';
  do {
    const { message } = await unary(grpc, Orders.listOrders, { petId, limit: 2, pageToken }, bearer(key));
    t.true(message.orders.length <= 2);
    ids.push(...message.orders.map(({ id }) => id));
    pageToken = message.nextPageToken;
  } while (pageToken !== '');
  t.is(ids.length, 5);
  t.is(new Set(ids).size, 5);
});

test('gRPC - an error is a canonical status with its reason, and never the REST body', async (t) => {
  const { grpc, key } = t.context;
  const spoofed = bearer(key);
  spoofed.set('x-envoy-original-path', '/pets?colour=red');
  spoofed.set('x-petstore-body-type', 'text/plain');
  for (const metadata of [bearer(key), spoofed]) {
    const error = await t.throwsAsync<ServiceError>(unary(grpc, Pets.getPet, { petId: 999_999n }, metadata));
    t.is(error.code, Status.NOT_FOUND);
    t.is(error.details, 'pet 999999 does not exist');
    t.is(detailsOf(error).errorInfo?.reason, 'PET_NOT_FOUND');
    t.deepEqual(error.metadata.get('x-petstore-error'), []);
  }
  const anonymous = await t.throwsAsync<ServiceError>(unary(grpc, Pets.getPet, { petId: 1n }, new Metadata()));
  t.is(anonymous.code, Status.UNAUTHENTICATED);
  t.is(detailsOf(anonymous).errorInfo?.reason, 'API_KEY_MISSING');
});

const INTERNAL = [
  [Edge.refuse, { method: 'GET', path: '/', status: 404, reply: '' }],
  [Edge.fail, { status: 503 }],
  [Admin.listAccounts, { pageToken: '' }],
] as const;

for (const [method, request] of INTERNAL) {
  test(`${method.path} - can not be called on the public port: by gRPC, by gRPC-Web or as JSON`, async (t) => {
    const { grpc, key, rest } = t.context;
    const error = await t.throwsAsync<ServiceError>(
      unary(grpc, method as typeof Edge.refuse, request as never, bearer(key)),
    );
    t.is(error.code, Status.UNIMPLEMENTED);
    t.deepEqual(error.metadata.get('grpc-status-details-bin'), []); // a response by Envoy itself: no server was called
    const web = await grpcWeb(t.context, method.path, method.requestSerialize(request as never));
    t.is(web.httpStatus, 404); // gRPC-Web maps it to UNIMPLEMENTED
    t.is(web.message, undefined);
    isError(t, await rest.post(method.path, request), 404, 'ROUTE_NOT_FOUND');
  });
}

interface WebResponse {
  readonly httpStatus: number;
  readonly contentType: string | null;
  /** The message of the data frame, if there is one. */
  readonly message: Buffer | undefined;
  /** The gRPC status, of the trailers frame or the headers. */
  readonly status: number;
  readonly headers: Headers;
}

/** A gRPC-Web call by hand: a frame is a byte of flags, four of length, and the message; 0x80 marks the trailers. */
async function grpcWeb(
  { rest, key }: TestStack,
  path: string,
  request: Uint8Array,
  { type = 'application/grpc-web+proto', authorization = `Bearer ${key}` } = {},
): Promise<WebResponse> {
  const frame = Buffer.concat([Buffer.alloc(5), request]);
  frame.writeUInt32BE(request.length, 1);
  const isText = type.startsWith('application/grpc-web-text');
  const response = await fetch(`${rest.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, accept: type, 'x-grpc-web': '1', authorization },
    body: isText ? frame.toString('base64') : frame,
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
  const status = /grpc-status: *(\d+)/i.exec(trailers)?.[1] ?? response.headers.get('grpc-status');
  return {
    httpStatus: response.status,
    contentType: response.headers.get('content-type'),
    message,
    status: Number(status),
    headers: response.headers,
  };
}

test('gRPC-Web - the public port supports it, in binary and in text', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  const request = ListPetsRequest.encode({ ids: [BigInt(petId)], pageToken: '' }).finish();
  for (const type of ['application/grpc-web+proto', 'application/grpc-web', 'application/grpc-web-text+proto']) {
    const response = await grpcWeb(t.context, Pets.listPets.path, request, { type });
    t.regex(response.contentType ?? '', /^application\/grpc-web/);
    t.is(response.status, Status.OK);
    const { pets } = ListPetsResponse.decode(response.message ?? Buffer.alloc(0));
    t.deepEqual(
      pets.map(({ id }) => Number(id)),
      [petId],
    );
  }
});

test('gRPC-Web - an error is a gRPC status, and never the REST body', async (t) => {
  const none = ListPetsRequest.encode({ ids: [], limit: 0, pageToken: '' }).finish();
  const invalid = await grpcWeb(t.context, Pets.listPets.path, none);
  t.is(invalid.status, Status.INVALID_ARGUMENT);
  t.false(invalid.headers.has('x-petstore-error'));
  const anonymous = await grpcWeb(t.context, Pets.listPets.path, none, { authorization: '' });
  t.is(anonymous.status, Status.UNAUTHENTICATED);
  t.is(anonymous.message, undefined);
});
