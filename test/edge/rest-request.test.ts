import test from 'ava';
import { restRequest } from '../../src/edge/rest-request.ts';
import { ApiError } from '../../src/errors.ts';
import { handler, newCall } from '../support/call.ts';

async function intercept(path: string, metadata: Readonly<Record<string, string>>): Promise<unknown> {
  // It may refuse at once or in a promise: the chain takes either.
  return restRequest.intercept(newCall(path, { metadata }), handler('passed').next);
}

function rest(path: string, originalPath: string, bodyType?: string): Promise<unknown> {
  const type = bodyType === undefined ? {} : { 'x-petstore-body-type': bodyType };
  return intercept(path, { 'x-envoy-original-path': originalPath, ...type });
}

test('REST request - a native gRPC call passes untouched', async (t) => {
  t.is(await intercept('PetService/CreatePet', { 'content-type': 'application/grpc' }), 'passed');
});

test('REST request - JSON passes, with parameters and in any case', async (t) => {
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    ' application/json ;x=1',
  ]) {
    t.is(await rest('PetService/CreatePet', '/pets', type), 'passed', type);
  }
});

test('REST request - a body that does not say JSON is UNSUPPORTED_CONTENT_TYPE, and is told what it said', async (t) => {
  const cases = {
    '': 'this one says nothing',
    'text/plain': 'this one says "text/plain"',
    'application/x-www-form-urlencoded': 'this one says "application/x-www-form-urlencoded"',
    'application/jsonx': 'this one says "application/jsonx"',
    'text/plain; application/json': 'this one says "text/plain; application/json"',
  };
  for (const [type, words] of Object.entries(cases)) {
    const error = await t.throwsAsync(rest('PetService/CreatePet', '/pets', type), { instanceOf: ApiError });
    t.is((error as ApiError).code, 'UNSUPPORTED_CONTENT_TYPE');
    t.true(error?.message.endsWith(words), error?.message);
  }
});

test('REST request - no body needs no content type', async (t) => {
  t.is(await rest('PetService/ListPets', '/pets'), 'passed');
  t.is(await rest('PetService/DeletePet', '/pets/7'), 'passed');
});

test('REST request - the query parameters of the contract pass', async (t) => {
  const known = {
    'PetService/ListPets': '/pets?status=sold&categoryId=1&ids=1&ids=2&limit=5&pageToken=x',
    'CategoryService/ListCategories': '/categories?limit=5&pageToken=x',
    'OrderService/ListOrders': '/store/orders?petId=1&complete=true&limit=5&pageToken=x',
    'InventoryService/ListInventory': '/store/inventory?status=sold&limit=5&pageToken=x',
  };
  for (const [operation, path] of Object.entries(known)) t.is(await rest(operation, path), 'passed', path);
});

test('REST request - unknown query parameters are a 400 that names each', async (t) => {
  const error = await t.throwsAsync(rest('PetService/ListPets', '/pets?colour=red&limit=5&size=1'), {
    instanceOf: ApiError,
  });
  t.is((error as ApiError).code, 'INVALID_ARGUMENT');
  t.is(error?.message, 'colour: is not a query parameter here; size: is not a query parameter here');
});

test("REST request - another operation's parameter, a path field and the proto's own name are unknown", async (t) => {
  const cases = [
    ['PetService/GetPet', '/pets/7?limit=1'],
    ['PetService/GetPet', '/pets/7?petId=8'],
    ['PetService/ListPets', '/pets?category_id=1'],
    ['PetService/CreatePet', '/pets?name=Tom'],
    ['PetService/ListPets', '/pets?STATUS=sold'],
    ['PetService/ListPets', '/pets?=1'],
  ] as const;
  for (const [operation, path] of cases) {
    const error = await t.throwsAsync(rest(operation, path), { instanceOf: ApiError }, path);
    t.is((error as ApiError).code, 'INVALID_ARGUMENT');
  }
});

test('REST request - a parameter that is taken once may be given once', async (t) => {
  const error = await t.throwsAsync(rest('PetService/ListPets', '/pets?limit=1&ids=1&ids=2&limit=2'), {
    instanceOf: ApiError,
  });
  t.is(error?.message, 'limit: is given more than once');
});

test('REST request - however many unknown parameters there are, the answer names a few', async (t) => {
  const query = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&');
  const error = await t.throwsAsync(rest('PetService/ListPets', `/pets?${query}`), { instanceOf: ApiError });
  t.true((error?.message.length ?? 0) < 2_000);
  t.true((error as ApiError).violations.length <= 20);
});

test('REST request - the content type is judged before the query', async (t) => {
  const error = await t.throwsAsync(rest('PetService/CreatePet', '/pets?colour=red', 'text/plain'), {
    instanceOf: ApiError,
  });
  t.is((error as ApiError).code, 'UNSUPPORTED_CONTENT_TYPE');
});
