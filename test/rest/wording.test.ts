/**
 * How what is wrong with a path or a query is worded, and what Envoy has found. requests.test.ts and fields.test.ts
 * have which error each is.
 */
import test, { type ExecutionContext } from 'ava';
import { RefuseRequest } from '../../gen/apiplatform/edge/v1/edge.ts';
import { edgeService } from '../../src/platform/edge/edge-service.ts';
import { ApiError } from '../../src/platform/errors.ts';
import { rest } from '../../src/platform/interceptors/rest.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { newCall } from '../support/service/call.ts';

const edge = edgeService(loadOperations().byPath.values());

type Refused = Partial<Omit<RefuseRequest, 'reply'>> & { readonly reply?: string };

async function refuse(t: ExecutionContext, { reply = '', ...request }: Refused): Promise<ApiError> {
  const bytes = Buffer.from(reply);
  const bare = RefuseRequest.fromPartial({ method: 'GET', path: '/pets', status: 400, reply: bytes });
  const whole = { ...bare, ...request };
  return (await t.throwsAsync(edge.refuse(whole, { protocol: { name: 'REST' } }), {
    instanceOf: ApiError,
  })) as ApiError;
}

const post = (reply: string) => ({ method: 'POST', path: '/pets', contentType: 'application/json', reply });

/** What the transcoder says, and what the caller gets. fields.test.ts has what json.lua says. */
const WRONG_VALUES = [
  ['/pets', 'pet.category_id: invalid value "a" for type TYPE_INT64', 'categoryId: "a" is not a whole number'],
  ['/pets', 'pet.name: invalid value 5 for type TYPE_STRING', 'name: 5 is not a string'],
  [
    '/pets',
    'pet.status: invalid value "gone" for type type.googleapis.com/petstore.v1.PetStatus',
    'status: "gone" is none of available, pending, sold',
  ],
  [
    '/pets',
    "pet: invalid value oneof field '_quantity' is already set. Cannot set 'quantity' for type oneof",
    'body: has two fields of which it may have one',
  ],
  [
    '/store/orders',
    "order.ship_date: invalid value Field 'shipDate', Illegal timestamp format; timestamps must end for type Timestamp",
    'shipDate: is no RFC 3339 timestamp',
  ],
  ['GET /pets/a', 'pet_id: invalid value "a" for type TYPE_INT64', 'petId: "a" is not a whole number'],
  [
    'GET /pets?ids=1,2',
    'ids: invalid value "1,2" for type TYPE_INT64',
    'ids: "1,2" is not a whole number: repeat the name for each, ids=1&ids=…',
  ],
  ['GET /pets?limit=x&a=1', 'limit: invalid value "x" for type TYPE_INT32', 'a: is not a query parameter here'],
  ['HEAD /pets/a', '', 'a value in the path or the query is invalid'], // Envoy has no message for HEAD
] as const;

test("Refusal - a value of the wrong type is INVALID_ARGUMENT under the field's JSON name", async (t) => {
  for (const [target, reply, message] of WRONG_VALUES) {
    const [path = '', method] = target.split(' ').reverse();
    const { code, ...error } = await refuse(
      t,
      method === undefined ? { ...post(reply), path } : { method, path, reply },
    );
    t.is(code, 'INVALID_ARGUMENT', reply);
    const said = error.violations.map(({ name, description }) => `${name}: ${description}`).join() || message;
    if (typeof message === 'string') t.is(said, message);
    else t.regex(String(said), message);
    if (method === undefined) t.is(error.violations[0]?.path, reply.split(':')[0]);
  }
  const onEveryMethod = await refuse(t, { path: '/healthz?colour=red' });
  t.is(onEveryMethod.message, 'colour: is not a query parameter here');
});

async function request(path: string, originalPath: string): Promise<void> {
  await rest.check(newCall(path, { metadata: { 'x-envoy-original-path': originalPath } }));
}

const UNKNOWN = 'is not a query parameter here';
const QUERIES: readonly (readonly [path: string, originalPath: string, message?: string | RegExp])[] = [
  ['PetService/ListPets', '/pets?status=sold&categoryId=1&ids=1&ids=2&limit=5&pageToken=x'],
  ['OrderService/ListOrders', '/store/orders?petId=1&complete=true&limit=5&pageToken=x'],
  ['PetService/ListPets', '/pets?&&limit=5&'],
  ['PetService/ListPets', '/pets?st%61tus=so%6cd'],
  ['PetService/ListPets', '/pets?pageToken=a=b'],
  ['PetService/ListPets', '/pets?colour=red&limit=5&size=1&size=2', `colour: ${UNKNOWN}; size: ${UNKNOWN}`],
  ['PetService/ListPets', `/pets?${'ids=1&&'.repeat(500)}`],
  ['PetService/ListPets', `/pets?${'ids=1&'.repeat(501)}`, 'ids: is one of more than 500 parameters'],
  ['PetService/GetPet', '/pets/7?petId=7', `petId: ${UNKNOWN}`],
  ['PetService/ListPets', '/pets?status', 'status: has no value'],
  ['PetService/ListPets', '/pets?pageToken=%ff', 'pageToken: is not UTF-8'],
  ['PetService/ListPets', '/pets?ids&ids=1', 'ids: has no value'],
  ['PetService/ListPets', '/pets?status&status=sold', 'status: is given more than once'],
  ['PetService/ListPets', '/pets?limit=5&l%69mit=6', 'limit: is given more than once'],
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
    if (message === undefined) await t.notThrowsAsync(request(path, originalPath), originalPath);
    else await t.throwsAsync(request(path, originalPath), { code: 'INVALID_ARGUMENT', message }, originalPath);
  }
});

test('REST request - the response names only some of many unknown parameters', async (t) => {
  const query = Array.from({ length: 5_000 }, (_, index) => `p${index}=1`).join('&');
  const error = await t.throwsAsync(request('PetService/ListPets', `/pets?${query}`), { instanceOf: ApiError });
  t.true((error?.message.length ?? 0) < 2_000);
});
