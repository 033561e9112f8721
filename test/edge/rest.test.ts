import test from 'ava';
import { rest } from '../../src/edge/rest.ts';
import { restProtocol } from '../../src/edge/rest-protocol.ts';
import { ApiError } from '../../src/errors.ts';
import { loadOperations } from '../../src/proto/operations.ts';
import type { AnyResponse, HttpResponse } from '../../src/rpc/chain.ts';
import { handler, newCall } from '../support/call.ts';

/** The response of the service: a pet, and a list of one. */
const PET = { id: 7n, name: 'Tom', categoryId: 9_007_199_254_740_993n, status: 1 };
const LISTS = { pets: [PET], categories: [], orders: [], items: [] };
const RESPONSE = { message: { ...PET, ...LISTS, nextPageToken: '' }, bytes: Buffer.of(1, 2, 3) };

async function intercept(path: string, metadata: Readonly<Record<string, string>>): Promise<AnyResponse> {
  return rest(newCall(path, { metadata }), handler(RESPONSE).next);
}

function request(path: string, originalPath: string, bodyType?: string): Promise<AnyResponse> {
  const type = bodyType === undefined ? {} : { 'x-petstore-body-type': bodyType };
  return intercept(path, { 'x-envoy-original-path': originalPath, ...type });
}

test('REST request - a gRPC call passes unchanged', async (t) => {
  t.is(await intercept('PetService/CreatePet', { 'content-type': 'application/grpc' }), RESPONSE);
  t.is(await intercept('PetService/GetPet', { 'if-none-match': 'nonsense' }), RESPONSE);
});

test('REST request - a body is JSON, with parameters and in any case, or UNSUPPORTED_CONTENT_TYPE', async (t) => {
  for (const type of [undefined, 'application/json', 'APPLICATION/JSON', ' application/json ;x=1']) {
    t.is(await request('PetService/CreatePet', '/pets', type), RESPONSE, type);
  }
  for (const type of ['', 'text/plain', 'application/jsonx', 'text/plain; application/json']) {
    const words = type === '' ? 'this one says nothing' : `this one says "${type}"`;
    // It is checked before the query.
    const error = await t.throwsAsync(request('PetService/CreatePet', '/pets?colour=red', type), {
      instanceOf: ApiError,
    });
    t.is((error as ApiError).code, 'UNSUPPORTED_CONTENT_TYPE');
    t.true(error?.message.endsWith(words), error?.message);
  }
});

const UNKNOWN = 'is not a query parameter here';
const QUERIES: readonly (readonly [path: string, originalPath: string, message?: string])[] = [
  ['PetService/ListPets', '/pets?status=sold&categoryId=1&ids=1&ids=2&limit=5&pageToken=x'],
  ['OrderService/ListOrders', '/store/orders?petId=1&complete=true&limit=5&pageToken=x'],
  ['PetService/ListPets', '/pets?'],
  ['PetService/ListPets', '/pets?&&limit=5&'],
  ['PetService/ListPets', '/pets?st%61tus=so%6cd'],
  ['PetService/ListPets', '/pets?pageToken=a=b'],
  ['PetService/ListPets', '/pets?colour=red&limit=5&size=1&size=2', `colour: ${UNKNOWN}; size: ${UNKNOWN}`],
  ['CategoryService/ListCategories', '/categories?status=sold', `status: ${UNKNOWN}`],
  ['PetService/GetPet', '/pets/7?petId=7', `petId: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?page_token=x', `page_token: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?status', 'status: has no value'],
  ['PetService/ListPets', '/pets?limit=5&status&', 'status: has no value'],
  ['PetService/ListPets', '/pets?st%61tus', 'status: has no value'],
  ['PetService/ListPets', '/pets?ids&ids=1', 'ids: has no value'],
  ['PetService/ListPets', '/pets?status&status=sold', 'status: is given more than once'],
  ['PetService/ListPets', '/pets?limit=5&l%69mit=6', 'limit: is given more than once'],
  ['PetService/ListPets', '/pets?limit=1&ids=1&ids=2&limit=2', 'limit: is given more than once'],
  ['PetService/ListPets', '/pets?status%3Dsold=1', `status=sold: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?st+atus=1', `st+atus: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?%ff=1', `%ff: ${UNKNOWN}`],
];

test('REST request - the query is read as by the transcoder: names are decoded, and need a "="', async (t) => {
  for (const [path, originalPath, message] of QUERIES) {
    if (message === undefined) t.is(await request(path, originalPath), RESPONSE, originalPath);
    else t.like(await t.throwsAsync(request(path, originalPath)), { code: 'INVALID_ARGUMENT', message }, originalPath);
  }
});

test('REST request - the response names only some of many unknown parameters', async (t) => {
  const query = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&');
  const error = await t.throwsAsync(request('PetService/ListPets', `/pets?${query}`), { instanceOf: ApiError });
  t.true((error?.message.length ?? 0) < 2_000);
});

/** How the response to a call is sent; `http` is undefined for gRPC. */
function respond(path: string, metadata: Readonly<Record<string, string>>, message: object) {
  const call = newCall(path, { metadata });
  const response = call.protocol.respond(call, { message, bytes: RESPONSE.bytes });
  return {
    http: response.trailers === undefined ? response : undefined,
    headers: Object.fromEntries(call.responseHeaders),
  };
}

test('REST response - a create has a Location, every page but the last a Link with the other parameters', (t) => {
  const [id, next] = [{ id: 7n }, { pets: [], nextPageToken: 'abc' }];
  for (const [path, originalPath, message, headers] of [
    ['PetService/CreatePet', '/pets', id, { location: '/pets/7' }],
    ['OrderService/PlaceOrder', '/store/orders/', id, { location: '/store/orders/7' }],
    ['PetService/ReplacePet', '/pets/7', id, {}],
    ['PetService/ListPets', '/pets', next, { link: '</pets?pageToken=abc>; rel="next"' }],
    ['PetService/ListPets', '/pets?limit=5&a=b', next, { link: '</pets?limit=5&a=b&pageToken=abc>; rel="next"' }],
    ['PetService/ListPets', '/pets?pageToken=x&limit=5', next, { link: '</pets?limit=5&pageToken=abc>; rel="next"' }],
    ['PetService/ListPets', '/pets', { pets: [], nextPageToken: '' }, {}],
  ] as const) {
    t.deepEqual(respond(path, { 'x-envoy-original-path': originalPath }, message).headers, headers, originalPath);
    t.deepEqual(respond(path, {}, message), { http: undefined, headers: {} }, 'to a gRPC caller');
  }
});

test('REST response - a response that matches If-None-Match is 304 Not Modified', async (t) => {
  for (const [path, headers, isNotModified] of [
    ['PetService/GetPet', { 'if-none-match': '"a"' }, true],
    ['PetService/GetPet', { 'if-none-match': 'W/"a"' }, true],
    ['PetService/GetPet', { 'if-none-match': '*' }, true],
    ['PetService/GetPet', { 'if-none-match': '"b"' }, false],
    ['PetService/GetPet', { 'if-match': '"a"' }, false],
    ['PetService/ReplacePet', { 'if-none-match': '"a"' }, false],
    ['PetService/ListPets', { 'if-none-match': '*' }, false],
  ] as const) {
    const call = newCall(path, { metadata: { 'x-envoy-original-path': '/pets/7', ...headers } });
    await rest(call, handler(RESPONSE).next);
    if (path !== 'PetService/ListPets') call.responseHeaders.set('etag', '"a"');
    const response = call.protocol.respond(call, RESPONSE);
    if (isNotModified) t.deepEqual(response, { status: 304, headers: {}, body: '' });
    else t.is(response.status, 200);
  }
});

test('REST response - an operation that can not be written fails at the start, not after its effect', (t) => {
  const getPet = loadOperations().byPath.get('/petstore.v1.PetService/GetPet');
  if (getPet === undefined) return t.fail();
  const { response } = getPet;
  for (const location of [undefined, '/pets/{colour}']) {
    t.throws(() => restProtocol([{ ...getPet, response: { ...response, status: 201, location } }]), {
      message: /no Location|field colour/,
    });
  }
});

function responseTo(path: string, method: string, message: object): HttpResponse | undefined {
  return respond(path, { 'x-envoy-original-path': '/x', 'x-envoy-original-method': method }, message).http;
}

test('REST response - is JSON with the status of its operation and its length in bytes; HEAD has no body', (t) => {
  const body = '{"id":7,"name":"Müsli 😀","categoryId":9007199254740993,"status":"available"}';
  const pet = { ...PET, name: 'Müsli 😀' };
  const [type, length] = [{ 'content-type': 'application/json' }, String(Buffer.byteLength(body))];
  const headers = { ...type, 'content-length': length };
  t.deepEqual(responseTo('PetService/GetPet', 'GET', pet), { status: 200, headers, body });
  t.deepEqual(responseTo('PetService/CreatePet', 'POST', pet), { status: 201, headers, body });
  t.deepEqual(responseTo('PetService/DeletePet', 'DELETE', {}), { status: 204, headers: {}, body: '' });
  const ofHead = { ...type, 'x-petstore-length': length };
  t.deepEqual(responseTo('PetService/GetPet', 'HEAD', pet), { status: 200, headers: ofHead, body: '' });
});
