import test from 'ava';
import { httpResponse, rest } from '../../src/edge/rest.ts';
import { ApiError } from '../../src/errors.ts';
import type { HttpResponse, Response } from '../../src/interceptors/chain.ts';
import { handler, newCall } from '../support/call.ts';

/** The response of the service: a pet, and a list of one. */
const PET = { id: 7n, name: 'Tom', categoryId: 9_007_199_254_740_993n, status: 1 };
const LISTS = { pets: [PET], categories: [], orders: [], items: [] };
const RESPONSE = { message: { ...PET, ...LISTS, nextPageToken: '' }, bytes: Buffer.of(1, 2, 3) };

async function intercept(path: string, metadata: Readonly<Record<string, string>>): Promise<Response> {
  return rest.intercept(newCall(path, { metadata }), handler(RESPONSE).next);
}

async function request(path: string, originalPath: string, bodyType?: string): Promise<unknown> {
  const type = bodyType === undefined ? {} : { 'x-petstore-body-type': bodyType };
  const { http, ...response } = await intercept(path, { 'x-envoy-original-path': originalPath, ...type });
  return response;
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
    t.deepEqual(await request('PetService/CreatePet', '/pets', type), RESPONSE, type);
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
  t.deepEqual(await request('PetService/ListPets', '/pets'), RESPONSE);
  t.deepEqual(await request('PetService/DeletePet', '/pets/7'), RESPONSE);
});

test('REST request - the query parameters of the contract pass', async (t) => {
  const known = {
    'PetService/ListPets': '/pets?status=sold&categoryId=1&ids=1&ids=2&limit=5&pageToken=x',
    'CategoryService/ListCategories': '/categories?limit=5&pageToken=x',
    'OrderService/ListOrders': '/store/orders?petId=1&complete=true&limit=5&pageToken=x',
    'InventoryService/ListInventory': '/store/inventory?status=sold&limit=5&pageToken=x',
  };
  for (const [operation, path] of Object.entries(known)) t.deepEqual(await request(operation, path), RESPONSE, path);
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

/** The headers that the interceptor sets, and whether it makes an HTTP response. */
async function headersOf(path: string, originalPath: string | undefined, message: object) {
  const metadata = originalPath === undefined ? {} : { 'x-envoy-original-path': originalPath };
  const call = newCall(path, { metadata });
  const { http } = await rest.intercept(call, handler({ message, bytes: Buffer.of() }).next);
  return { isHttp: http !== undefined, headers: Object.fromEntries(call.responseHeaders) };
}

test('REST response - a create has a Location', async (t) => {
  t.deepEqual(await headersOf('PetService/CreatePet', '/pets', { id: 7n }), {
    isHttp: true,
    headers: { location: '/pets/7' },
  });
  t.deepEqual((await headersOf('OrderService/PlaceOrder', '/store/orders/', { id: 8n })).headers, {
    location: '/store/orders/8',
  });
  t.deepEqual((await headersOf('PetService/ReplacePet', '/pets/7', { id: 7n })).headers, {});
});

test('REST response - every page but the last has a Link to the next, with the other parameters', async (t) => {
  const cases = {
    '/pets': '/pets?pageToken=abc',
    '/pets?limit=5&status=sold': '/pets?limit=5&status=sold&pageToken=abc',
    '/pets?pageToken=x&limit=5': '/pets?limit=5&pageToken=abc',
  };
  for (const [path, next] of Object.entries(cases)) {
    const { headers } = await headersOf('PetService/ListPets', path, { pets: [], nextPageToken: 'abc' });
    t.deepEqual(headers, { link: `<${next}>; rel="next"` });
  }
  t.deepEqual((await headersOf('PetService/ListPets', '/pets', { pets: [], nextPageToken: '' })).headers, {});
});

test('REST response - a response that matches If-None-Match is 304 Not Modified', async (t) => {
  const response = async (path: string, headers: Readonly<Record<string, string>>, etag?: string) => {
    const call = newCall(path, { metadata: { 'x-envoy-original-path': '/pets/7', ...headers } });
    const { http } = await rest.intercept(call, async () => {
      if (etag !== undefined) call.responseHeaders.set('etag', etag);
      return RESPONSE;
    });
    return http;
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
  t.deepEqual(await headersOf('PetService/CreatePet', undefined, { id: 7n }), { isHttp: false, headers: {} });
  t.deepEqual(await headersOf('PetService/ListPets', undefined, { pets: [], nextPageToken: 'abc' }), {
    isHttp: false,
    headers: {},
  });
  const call = newCall('PetService/GetPet', { metadata: { 'if-none-match': 'nonsense' } });
  t.is(await rest.intercept(call, handler(RESPONSE).next), RESPONSE);
});

async function responseTo(path: string, method: string, message: object): Promise<HttpResponse | undefined> {
  const metadata = { 'x-envoy-original-path': '/x', 'x-envoy-original-method': method };
  return (await rest.intercept(newCall(path, { metadata }), handler({ message, bytes: Buffer.of() }).next)).http;
}

test('REST response - is JSON with the status of its operation', async (t) => {
  const body = '{"id":7,"name":"Tom","categoryId":9007199254740993,"status":"available"}';
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
  t.deepEqual(await responseTo('PetService/GetPet', 'GET', PET), { status: 200, headers, body });
  t.deepEqual(await responseTo('PetService/CreatePet', 'POST', PET), { status: 201, headers, body });
  t.deepEqual(await responseTo('PetService/DeletePet', 'DELETE', {}), { status: 204, headers: {}, body: '' });
});

test('REST response - a list is a bare array', async (t) => {
  for (const [path, name] of [
    ['PetService/ListPets', 'pets'],
    ['CategoryService/ListCategories', 'categories'],
    ['OrderService/ListOrders', 'orders'],
    ['InventoryService/ListInventory', 'items'],
  ] as const) {
    t.is((await responseTo(path, 'GET', { [name]: [], nextPageToken: 'x' }))?.body, '[]');
    const items = [{ id: 1n, petId: 2n }];
    t.regex(String((await responseTo(path, 'GET', { [name]: items, nextPageToken: '' }))?.body), /^\[\{.*\}\]$/);
  }
});

test('REST response - for HEAD has no body, but its length', async (t) => {
  const get = await responseTo('PetService/GetPet', 'GET', PET);
  const head = await responseTo('PetService/GetPet', 'HEAD', PET);
  t.is(head?.body, '');
  t.is(head?.headers['x-petstore-length'], get?.headers['content-length']);
  t.is(head?.headers['content-length'], undefined);
});

test('REST response - has its length in bytes', async (t) => {
  const response = await responseTo('PetService/GetPet', 'GET', { ...PET, name: 'Müsli 😀' });
  t.is(response?.headers['content-length'], String(Buffer.byteLength(response?.body ?? '')));
});

test('Connect response - is the encoded message', async (t) => {
  const call = newCall('PetService/GetPet', { metadata: { 'x-petstore-connect': '1' } });
  const { http } = await httpResponse.intercept(call, handler(RESPONSE).next);
  const headers = { 'content-type': 'application/proto', 'content-length': '3' };
  t.deepEqual(http, { status: 200, headers, body: RESPONSE.bytes });
});
