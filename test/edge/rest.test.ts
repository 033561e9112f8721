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
  return rest.intercept(newCall(path, { metadata }), handler(RESPONSE).next);
}

function request(path: string, originalPath: string, bodyType?: string): Promise<AnyResponse> {
  const type = bodyType === undefined ? {} : { 'x-petstore-body-type': bodyType };
  return intercept(path, { 'x-envoy-original-path': originalPath, ...type });
}

test('REST request - a gRPC call passes unchanged', async (t) => {
  t.is(await intercept('PetService/CreatePet', { 'content-type': 'application/grpc' }), RESPONSE);
});

test('REST request - the JSON content type passes, with parameters and in any case', async (t) => {
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    ' application/json ;x=1',
  ]) {
    t.is(await request('PetService/CreatePet', '/pets', type), RESPONSE, type);
  }
});

test('REST request - a body that is not JSON is UNSUPPORTED_CONTENT_TYPE, with its content type', async (t) => {
  const cases = {
    '': 'this one says nothing',
    'text/plain': 'this one says "text/plain"',
    'application/x-www-form-urlencoded': 'this one says "application/x-www-form-urlencoded"',
    'application/jsonx': 'this one says "application/jsonx"',
    'text/plain; application/json': 'this one says "text/plain; application/json"',
  };
  for (const [type, words] of Object.entries(cases)) {
    const error = await t.throwsAsync(request('PetService/CreatePet', '/pets', type), { instanceOf: ApiError });
    t.is((error as ApiError).code, 'UNSUPPORTED_CONTENT_TYPE');
    t.true(error?.message.endsWith(words), error?.message);
  }
});

test('REST request - a request without a body needs no content type', async (t) => {
  t.is(await request('PetService/ListPets', '/pets'), RESPONSE);
  t.is(await request('PetService/DeletePet', '/pets/7'), RESPONSE);
});

test('REST request - the query parameters of the contract pass', async (t) => {
  const known = {
    'PetService/ListPets': '/pets?status=sold&categoryId=1&ids=1&ids=2&limit=5&pageToken=x',
    'CategoryService/ListCategories': '/categories?limit=5&pageToken=x',
    'OrderService/ListOrders': '/store/orders?petId=1&complete=true&limit=5&pageToken=x',
    'InventoryService/ListInventory': '/store/inventory?status=sold&limit=5&pageToken=x',
  };
  for (const [operation, path] of Object.entries(known)) t.is(await request(operation, path), RESPONSE, path);
});

test('REST request - unknown query parameters are INVALID_ARGUMENT, and the error names each', async (t) => {
  const error = await t.throwsAsync(request('PetService/ListPets', '/pets?colour=red&limit=5&size=1'), {
    instanceOf: ApiError,
  });
  t.is((error as ApiError).code, 'INVALID_ARGUMENT');
  t.is(error?.message, 'colour: is not a query parameter here; size: is not a query parameter here');
});

test('REST request - parameters of other operations, path fields and proto names are unknown', async (t) => {
  const cases = [
    ['PetService/GetPet', '/pets/7?limit=1'],
    ['PetService/GetPet', '/pets/7?petId=8'],
    ['PetService/ListPets', '/pets?category_id=1'],
    ['PetService/CreatePet', '/pets?name=Tom'],
    ['PetService/ListPets', '/pets?STATUS=sold'],
    ['PetService/ListPets', '/pets?=1'],
  ] as const;
  for (const [operation, path] of cases) {
    const error = await t.throwsAsync(request(operation, path), { instanceOf: ApiError }, path);
    t.is((error as ApiError).code, 'INVALID_ARGUMENT');
  }
});

test('REST request - the query is read as by the transcoder: names are decoded, and need a "="', async (t) => {
  const cases = {
    '/pets?status': 'status: has no value',
    '/pets?limit=5&status&': 'status: has no value',
    '/pets?st%61tus': 'status: has no value',
    '/pets?limit=5&l%69mit=6': 'limit: is given more than once',
    '/pets?status%3Dsold=1': 'status=sold: is not a query parameter here',
    '/pets?st+atus=1': 'st+atus: is not a query parameter here',
    '/pets?%ff=1': '%ff: is not a query parameter here',
  };
  for (const [path, message] of Object.entries(cases)) {
    const error = await t.throwsAsync(request('PetService/ListPets', path), { instanceOf: ApiError, message }, path);
    t.is((error as ApiError).code, 'INVALID_ARGUMENT');
  }
  for (const path of ['/pets?', '/pets?&&limit=5&', '/pets?st%61tus=so%6cd', '/pets?pageToken=a=b']) {
    t.is(await request('PetService/ListPets', path), RESPONSE, path);
  }
});

test('REST request - a parameter that is not a list may occur once', async (t) => {
  const error = await t.throwsAsync(request('PetService/ListPets', '/pets?limit=1&ids=1&ids=2&limit=2'), {
    instanceOf: ApiError,
  });
  t.is(error?.message, 'limit: is given more than once');
});

test('REST request - the response names only a few of many unknown parameters', async (t) => {
  const query = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&');
  const error = await t.throwsAsync(request('PetService/ListPets', `/pets?${query}`), { instanceOf: ApiError });
  t.true((error?.message.length ?? 0) < 2_000);
  t.true((error as ApiError).violations.length <= 20);
});

test('REST request - the content type is checked before the query', async (t) => {
  const error = await t.throwsAsync(request('PetService/CreatePet', '/pets?colour=red', 'text/plain'), {
    instanceOf: ApiError,
  });
  t.is((error as ApiError).code, 'UNSUPPORTED_CONTENT_TYPE');
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

/** The headers of a response besides those of its body. */
function headersOf(path: string, originalPath: string, message: object) {
  return respond(path, { 'x-envoy-original-path': originalPath }, message).headers;
}

test('REST response - a create has a Location', (t) => {
  t.deepEqual(headersOf('PetService/CreatePet', '/pets', { id: 7n }), { location: '/pets/7' });
  t.deepEqual(headersOf('OrderService/PlaceOrder', '/store/orders/', { id: 8n }), { location: '/store/orders/8' });
  t.deepEqual(headersOf('PetService/ReplacePet', '/pets/7', { id: 7n }), {});
});

test('REST response - every page but the last has a Link to the next, with the other parameters', (t) => {
  const cases = {
    '/pets': '/pets?pageToken=abc',
    '/pets?limit=5&status=sold': '/pets?limit=5&status=sold&pageToken=abc',
    '/pets?pageToken=x&limit=5': '/pets?limit=5&pageToken=abc',
  };
  for (const [path, next] of Object.entries(cases)) {
    const headers = headersOf('PetService/ListPets', path, { pets: [], nextPageToken: 'abc' });
    t.deepEqual(headers, { link: `<${next}>; rel="next"` });
  }
  t.deepEqual(headersOf('PetService/ListPets', '/pets', { pets: [], nextPageToken: '' }), {});
});

test('REST response - a response that matches If-None-Match is 304 Not Modified', async (t) => {
  const response = async (path: string, headers: Readonly<Record<string, string>>, etag?: string) => {
    const call = newCall(path, { metadata: { 'x-envoy-original-path': '/pets/7', ...headers } });
    await rest.intercept(call, handler(RESPONSE).next);
    if (etag !== undefined) call.responseHeaders.set('etag', etag);
    return call.protocol.respond(call, RESPONSE);
  };
  const NOT_MODIFIED = { status: 304, headers: {}, body: '' };
  t.deepEqual(await response('PetService/GetPet', { 'if-none-match': '"a"' }, '"a"'), NOT_MODIFIED);
  t.deepEqual(await response('PetService/GetPet', { 'if-none-match': 'W/"a"' }, '"a"'), NOT_MODIFIED);
  t.deepEqual(await response('PetService/GetPet', { 'if-none-match': '*' }, '"a"'), NOT_MODIFIED);
  t.notDeepEqual(await response('PetService/GetPet', { 'if-none-match': '"b"' }, '"a"'), NOT_MODIFIED);
  t.notDeepEqual(await response('PetService/GetPet', { 'if-match': '"a"' }, '"a"'), NOT_MODIFIED);
  t.notDeepEqual(await response('PetService/ReplacePet', { 'if-none-match': '"a"' }, '"a"'), NOT_MODIFIED);
  t.notDeepEqual(await response('PetService/ListPets', { 'if-none-match': '*' }), NOT_MODIFIED);
});

test('REST response - is not sent to a gRPC caller', async (t) => {
  for (const path of ['PetService/CreatePet', 'PetService/ListPets']) {
    t.deepEqual(respond(path, {}, { ...RESPONSE.message, nextPageToken: 'abc' }), { http: undefined, headers: {} });
  }
  const call = newCall('PetService/GetPet', { metadata: { 'if-none-match': 'nonsense' } });
  t.is(await rest.intercept(call, handler(RESPONSE).next), RESPONSE);
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

test('REST response - is JSON with the status of its operation', (t) => {
  const body = '{"id":7,"name":"Tom","categoryId":9007199254740993,"status":"available"}';
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  t.deepEqual(responseTo('PetService/GetPet', 'GET', PET), { status: 200, headers, body });
  t.deepEqual(responseTo('PetService/CreatePet', 'POST', PET), { status: 201, headers, body });
  t.deepEqual(responseTo('PetService/DeletePet', 'DELETE', {}), { status: 204, headers: {}, body: '' });
});

test('REST response - a list is a bare array', (t) => {
  for (const [path, name] of [
    ['PetService/ListPets', 'pets'],
    ['CategoryService/ListCategories', 'categories'],
    ['OrderService/ListOrders', 'orders'],
    ['InventoryService/ListInventory', 'items'],
  ] as const) {
    t.is(responseTo(path, 'GET', { [name]: [], nextPageToken: 'x' })?.body, '[]');
    const items = [{ id: 1n, petId: 2n }];
    t.regex(String(responseTo(path, 'GET', { [name]: items, nextPageToken: '' })?.body), /^\[\{.*\}\]$/);
  }
});

test('REST response - for HEAD has no body, but its length', (t) => {
  const get = responseTo('PetService/GetPet', 'GET', PET);
  const head = responseTo('PetService/GetPet', 'HEAD', PET);
  t.is(head?.body, '');
  t.is(head?.headers['x-petstore-length'], get?.headers['content-length']);
  t.is(head?.headers['content-length'], undefined);
});

test('REST response - has its length in bytes', (t) => {
  const response = responseTo('PetService/GetPet', 'GET', { ...PET, name: 'Müsli 😀' });
  t.is(response?.headers['content-length'], String(Buffer.byteLength(response?.body ?? '')));
});

test('Connect response - is the encoded message', (t) => {
  const headers = { 'content-type': 'application/proto', 'content-length': '3' };
  const { http } = respond('PetService/GetPet', { 'x-petstore-connect': '1' }, PET);
  t.deepEqual(http, { status: 200, headers, body: RESPONSE.bytes });
});
