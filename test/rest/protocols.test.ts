/**
 * Native gRPC, gRPC-Web and Connect (https://connectrpc.com/docs/protocol) on the public port. What each method returns
 * is tested over the private port, in test/rpc.
 */
import { readFile } from 'node:fs/promises';
import { status as Status } from '@grpc/grpc-js';
import { AdminServiceService as Admin, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { EdgeServiceService as Edge } from '../../gen/apiplatform/edge/v1/edge.ts';
import { WebServiceService as Web } from '../../gen/apiplatform/web/v1/web.ts';
import {
  CategoryServiceService as Categories,
  Category,
  CreateCategoryRequest,
  GetCategoryRequest,
  ListCategoriesRequest,
  ListCategoriesResponse,
} from '../../gen/petstore/v1/categories.ts';
import { ListPetsRequest, ListPetsResponse, PetStatus, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { operatorKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { statusOfGrpc } from '../support/calls/answers.ts';
import { call, isConnectError, isSuccess } from '../support/calls/connect-client.ts';
import { exchangeAlone, grpcFrame, grpcHeaders, rawGrpc } from '../support/calls/http2.ts';
import { isError } from '../support/contract/errors.ts';
import { statistic } from '../support/service/exposition.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

const test = stackTest();

test('gRPC - the public port accepts native calls, on the same store as REST', async (t) => {
  const { grpc, rest } = t.context;
  const category = await grpc.call(Categories.createCategory, { category: { name: ' Cats ' } });
  t.deepEqual((await rest.get(`/categories/${category.id}`)).body, { id: Number(category.id), name: 'Cats' });
  const petId = BigInt(await rest.pet({ categoryId: Number(category.id), status: 'sold' }));
  const { message: pet, headers } = await grpc.exchange(Pets.getPet, { petId });
  t.deepEqual(pet, { id: petId, name: 'Tom', categoryId: category.id, status: PetStatus.sold });
  t.deepEqual(headers.get('deprecation'), ['@1782864000']);
});

test('gRPC - an error is a canonical status with its reason, and never the REST body', async (t) => {
  const { grpc } = t.context;
  const spoofed = { 'x-envoy-original-path': '/pets?colour=red', 'x-petstore-body-type': 'text/plain' };
  for (const metadata of [{}, spoofed]) {
    const failure = await grpc.failure(Pets.getPet, { petId: 999_999n }, { metadata });
    t.like(failure, { code: Status.NOT_FOUND, message: 'pet 999999 does not exist', reason: 'PET_NOT_FOUND' });
    t.deepEqual([failure.domain, failure.metadata.get('x-petstore-error')], ['petstore', []]);
  }
  const anonymous = await grpc.withKey(undefined).failure(Pets.getPet, { petId: 1n });
  t.like(anonymous, { code: Status.UNAUTHENTICATED, reason: 'API_KEY_MISSING' });
});

const INTERNAL = [
  ...[Edge.refuse.path, Edge.fail.path, Edge.fail.path.replace('apiplatform', 'petstore')],
  ...[Admin.listAccounts.path, Web.checkHealth.path, Web.getFile.path],
];
const WEB_TYPES = ['', '+proto', '-text', '-text+proto'].map((suffix) => `application/grpc-web${suffix}`);

test('Internal methods - cannot be reached through Envoy by REST, gRPC or gRPC-Web, with any key', async (t) => {
  const { grpc, rest, config, key: apiKey } = t.context;
  const operatorKey = (await readFile(operatorKeyFile(config.dataDir), 'utf8')).trim();
  for (const path of INTERNAL) {
    for (const key of [apiKey, operatorKey]) {
      const isKnown = key === apiKey;
      const code = isKnown ? Status.UNIMPLEMENTED : Status.UNAUTHENTICATED;
      const reason = isKnown ? 'ROUTE_NOT_FOUND' : 'API_KEY_INVALID';
      t.like(await grpc.withKey(key).failureOfBytes(path, Buffer.of()), { code, reason });
      for (const type of WEB_TYPES) {
        t.like(await grpcWeb({ ...t.context, key }, path, Buffer.of(), type), { code, message: undefined });
      }
    }
    isError(t, await rest.post(path, {}), 404, 'ROUTE_NOT_FOUND');
  }
});

test('Internal methods - on the private port, those of Envoy are judged and counted like no methods', async (t) => {
  const { grpcAddress, operator } = t.context;
  const account = await operator.account(Plan.PLAN_PRO);
  const { key } = await operator.key(account.id);
  const methods = [Edge.judge, Edge.refuse, Edge.fail].map(({ path }) => path);
  for (const path of methods) {
    const [anonymous, known] = [await rawGrpc(grpcAddress, { path }), await rawGrpc(grpcAddress, { path, key })];
    t.like(anonymous, { status: Status.UNAUTHENTICATED, reason: 'API_KEY_MISSING' }, path);
    t.like(known, { status: Status.UNIMPLEMENTED, reason: 'ROUTE_NOT_FOUND' }, path);
  }
  t.like(await operator.usage(account.id), [{ requests: BigInt(methods.length) }]);
});

test.serial('gRPC - a call of any other path counts, and without a key it is UNAUTHENTICATED', async (t) => {
  const { publicAddress, key, config } = t.context;
  const knownCalls = () => statistic(config.envoyAdminPort, 'cluster.petstore.upstream_rq_total');
  for (const path of ['/foo/bar', '/', '/pets', '/healthz', '/grpc.Any/Thing', '/apiplatform.web.v1.Any/Thing']) {
    const known = await rawGrpc(publicAddress, { path, key });
    const message = `nothing answers to POST ${path}`;
    t.like(known, { status: Status.UNIMPLEMENTED, reason: 'ROUTE_NOT_FOUND', message });
    const before = await knownCalls();
    const anonymous = await rawGrpc(publicAddress, { path });
    t.like(anonymous, { status: Status.UNAUTHENTICATED, reason: 'API_KEY_MISSING' }, path);
    t.is(await knownCalls(), before, `${path} takes no slot of a caller with a key`);
    for (const { headers } of [known, anonymous]) t.regex(headers.get('x-ratelimit-limit') ?? '', /^\d+$/, path);
  }
});

/** A gRPC-Web call. The message is undefined when the response has none. */
async function grpcWeb(
  { publicAddress, key }: Pick<TestStack, 'publicAddress' | 'key'>,
  path: string,
  request: Uint8Array,
  type: string,
) {
  const isText = type.toLowerCase().startsWith('application/grpc-web-text');
  const frame = grpcFrame(request);
  const fields = { ...grpcHeaders(path, key), 'content-type': type, accept: type, 'x-grpc-web': '1' };
  const sent = { body: isText ? Buffer.from(frame.toString('base64')) : frame };
  const { headers, body } = await exchangeAlone(publicAddress, fields, sent);
  const pieces = body.toString('latin1').match(/[^=]+=*/g) ?? []; // each is padded for itself
  const bytes = isText ? Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))) : body;
  const message = bytes[0] === 0 ? bytes.subarray(5, 5 + bytes.readUInt32BE(1)) : undefined;
  return { headers, message, code: statusOfGrpc({ headers, body: bytes }) };
}

test('gRPC-Web - the public port supports it, in binary and in text; an error is a gRPC status', async (t) => {
  const petId = BigInt(await t.context.rest.pet());
  const request = ListPetsRequest.encode({ ids: [petId], pageToken: '' }).finish();
  const none = ListPetsRequest.encode({ ids: [], limit: 0, pageToken: '' }).finish();
  for (const type of WEB_TYPES) {
    const { headers, code, message } = await grpcWeb(t.context, Pets.listPets.path, request, type);
    t.regex(headers.get('content-type') ?? '', /^application\/grpc-web/);
    t.is(code, Status.OK);
    t.like(ListPetsResponse.decode(message ?? Buffer.of()).pets, [{ id: petId }]);
    const invalid = await grpcWeb(t.context, Pets.listPets.path, none, type);
    const keyless = await grpcWeb({ ...t.context, key: '' }, Pets.listPets.path, none, type);
    t.deepEqual([invalid.code, keyless.code], [Status.INVALID_ARGUMENT, Status.UNAUTHENTICATED]);
    t.deepEqual([invalid.message, keyless.message], [undefined, undefined], 'never the REST body');
  }
});

test('Media types - of gRPC, gRPC-Web and Connect are compared without case and parameters', async (t) => {
  const { publicAddress, grpcAddress, key } = t.context;
  const none = ListPetsRequest.encode({ ids: [], pageToken: '' }).finish();
  for (const type of ['Application/gRPC', 'application/grpc;charset=utf-8', 'APPLICATION/GRPC+PROTO ; a=b']) {
    for (const address of [publicAddress, grpcAddress]) {
      const call = { path: Pets.listPets.path, key, body: grpcFrame(none), headers: { 'content-type': type } };
      t.is((await rawGrpc(address, call)).status, Status.OK, `${type} at ${address}`);
    }
  }
  for (const type of WEB_TYPES.flatMap((plain) => [`${plain}; charset=utf-8`, plain.toUpperCase()])) {
    const { code, message } = await grpcWeb(t.context, Pets.listPets.path, none, type);
    t.deepEqual([code, message === undefined], [Status.OK, false], type);
    t.is((await grpcWeb(t.context, '/a.b.C/D', none, type)).code, Status.UNIMPLEMENTED, type);
  }
  for (const type of ['Application/Proto', 'application/proto; charset=utf-8']) {
    isSuccess(t, await call(t.context, Pets.listPets.path, none, { 'content-type': type }));
  }
});

const cats = CreateCategoryRequest.encode({ category: { name: 'Cats' } }).finish();
const list = ListCategoriesRequest.encode({ pageToken: '' }).finish();

test('Connect - a response is the encoded message with the headers of gRPC, from the same store as REST', async (t) => {
  const { rest } = t.context;
  const create = () => call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  const response = await create();
  const made = Category.decode(isSuccess(t, response));
  const read = await rest.get(`/categories/${made.id}`);
  t.deepEqual(read.body, { id: Number(made.id), name: 'Cats' });
  t.is(response.headers.get('etag'), read.headers.get('etag'));
  const again = await create();
  t.deepEqual(Category.decode(isSuccess(t, again)), made);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  const without = await call(t.context, Categories.listCategories.path, list, { 'connect-protocol-version': '' });
  t.true(ListCategoriesResponse.decode(isSuccess(t, without)).categories.some(({ id }) => id === made.id));
  const ofGrpc = { 'grpc-timeout': '1n', 'grpc-encoding': 'gzip', 'grpc-accept-encoding': 'gzip' }; // ignored here
  for (const headers of [ofGrpc, { 'connect-timeout-ms': '9999999999' }]) // as long as the protocol allows
    isSuccess(t, await call(t.context, Categories.listCategories.path, list, headers));
});

test('Connect - every error has the status and code of the protocol, and its reason', async (t) => {
  const missing = GetCategoryRequest.encode({ categoryId: 999_999n }).finish();
  const [{ path: get }, nowhere] = [Categories.getCategory, '/petstore.v1.PetService/Nope'];
  for (const [path, request, status, code, reason, changes] of [
    [Categories.createCategory.path, Buffer.of(), 400, 'invalid_argument', 'INVALID_ARGUMENT'],
    [Categories.createCategory.path, Buffer.of(0xff), 400, 'invalid_argument', 'MALFORMED_BODY'],
    [get, missing, 404, 'not_found', 'CATEGORY_NOT_FOUND'],
    [get, missing, 504, 'deadline_exceeded', 'DEADLINE_EXCEEDED', { 'connect-timeout-ms': '0' }],
    ...['soon', '1.5', '-1', '1S', '12345678901'].map((timeout) => {
      return [get, missing, 400, 'invalid_argument', 'INVALID_ARGUMENT', { 'connect-timeout-ms': timeout }] as const;
    }),
    // What is not supported: JSON, streams, compression, other versions.
    ...[
      { 'content-type': 'application/json' },
      { 'content-type': 'application/connect+proto' },
      { 'content-encoding': 'gzip' },
      { 'connect-protocol-version': '2' },
    ].map((other) => [get, Buffer.from('{}'), 501, 'unimplemented', 'UNSUPPORTED_CONTENT_TYPE', other] as const),
    [nowhere, cats, 404, 'unimplemented', 'ROUTE_NOT_FOUND'],
    [`${get}?x=1`, cats, 404, 'unimplemented', 'ROUTE_NOT_FOUND'],
    ...['', `Bearer ${generateKey()}`].flatMap((authorization) => {
      const reason = authorization === '' ? 'API_KEY_MISSING' : 'API_KEY_INVALID';
      return ['application/proto', 'application/connect+proto', 'application/json'].map((type) => {
        return [nowhere, cats, 401, 'unauthenticated', reason, { authorization, 'content-type': type }] as const;
      });
    }),
  ] as const) {
    const response = await call(t.context, path, request, changes);
    const message = isConnectError(t, response, status, code, reason);
    t.is(/^Bearer realm="petstore"/.test(response.headers.get('www-authenticate') ?? ''), status === 401);
    if (status === 400) t.regex(message, changes === undefined ? /./ : /must be 1 to 10 digits/);
    if (status === 501) t.true(message.includes('send "Content-Type: application/proto"'));
  }
});

test('Connect - the path of a method takes POST alone, and what is no call there is a 415', async (t) => {
  const { rest, key } = t.context;
  const [url, authorization] = [`${rest.url}${Pets.listPets.path}`, `Bearer ${key}`];
  const requests: { method: string; type: string; query?: string; body?: Buffer }[] = [
    { method: 'GET', type: '', query: '?connect=v1&encoding=proto&message=' },
    ...['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'FOO'].map((method) => ({ method, type: 'application/proto' })),
    ...['image/jpeg', 'application/foo', 'application/grpc-web+foo', ''].flatMap((type) =>
      [{}, { body: Buffer.from('no JSON') }].map((sent) => ({ method: 'POST', type, ...sent })),
    ),
  ];
  for (const { method, type, query = '', ...sent } of requests) {
    const headers = { authorization, 'content-type': type };
    const response = await fetch(url + query, { method, headers, ...sent });
    const [status, name, value] = method === 'POST' ? [415, 'accept-post', /proto/] : [405, 'allow', /^POST$/];
    t.is(response.status, status, `${method} ${type}`);
    t.regex(response.headers.get(name) ?? '', value);
    // Clients of Connect take these statuses for the code `unknown`.
    const text = await response.text();
    if (method !== 'HEAD') t.like(JSON.parse(text), { code: 'unknown' });
  }
});
