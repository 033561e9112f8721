import test from 'ava';
import { ApiError } from '../../src/platform/errors.ts';
import { rest } from '../../src/platform/rest/requests.ts';
import type { Response } from '../../src/platform/rpc/chain.ts';
import { handler, newCall, RESPONSE } from '../support/service/call.ts';

async function request(path: string, originalPath: string): Promise<Response> {
  return rest(newCall(path, { metadata: { 'x-envoy-original-path': originalPath } }), handler().next);
}

const UNKNOWN = 'is not a query parameter here';
/** fields.test.ts has the spellings of values. */
const QUERIES: readonly (readonly [path: string, originalPath: string, message?: string | RegExp])[] = [
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
  ['PetService/ListPets', '/pets?pageToken=%ff', 'pageToken: is not UTF-8'],
  ['PetService/ListPets', '/pets?ids&ids=1', 'ids: has no value'],
  ['PetService/ListPets', '/pets?status&status=sold', 'status: is given more than once'],
  ['PetService/ListPets', '/pets?limit=5&l%69mit=6', 'limit: is given more than once'],
  ['PetService/ListPets', '/pets?limit=1&ids=1&ids=2&limit=2', 'limit: is given more than once'],
  ['PetService/ListPets', '/pets?status%3Dsold=1', `status=sold: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?st+atus=1', `st+atus: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?%ff=1', `\ufffd: ${UNKNOWN}`],
  ...['%EF%BF%BD', '%zz', '%', '%e2%82%ac', '+1', '01', 'TRUE'].map(
    (text) => ['PetService/ListPets', `/pets?pageToken=${text}`] as const,
  ),
  ...['%EF%BF%BD%ff', '%ed%a0%80'].map(
    (text) => ['PetService/ListPets', `/pets?pageToken=${text}`, 'pageToken: is not UTF-8'] as const,
  ),
  ['PetService/GetPet', '/pets/%ff', 'petId: is not UTF-8'],
  ['PetService/GetPet', '/pets/%31/?'],
  ['OrderService/GetOrder', '/store/orders/01?x=1', `orderId: "01" is not a whole number; x: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?limit=%2B1', 'limit: "+1" is not a whole number'],
  ['PetService/ListPets', '/pets?status=01', /^status: "01" is none of available, pending, sold$/],
  ['OrderService/ListOrders', '/store/orders?complete=yes', 'complete: "yes" is neither true nor false'],
];

test('REST request - path and query are read as by the transcoder, and values as JSON spells them', async (t) => {
  for (const [path, originalPath, message] of QUERIES) {
    if (message === undefined) t.is(await request(path, originalPath), RESPONSE, originalPath);
    else await t.throwsAsync(request(path, originalPath), { code: 'INVALID_ARGUMENT', message }, originalPath);
  }
});

test('REST request - the response names only some of many unknown parameters', async (t) => {
  const query = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&');
  const error = await t.throwsAsync(request('PetService/ListPets', `/pets?${query}`), { instanceOf: ApiError });
  t.true((error?.message.length ?? 0) < 2_000);
});
