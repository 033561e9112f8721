import { status as Status } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import type { RefuseRequest } from '../../gen/petstore/edge/v1/edge.ts';
import { edgeService } from '../../src/edge/edge-service.ts';
import { ApiError } from '../../src/errors.ts';
import { loadOperations } from '../../src/proto/operations.ts';

const edge = edgeService(loadOperations().byPath.values());
const CONTEXT = {};

async function refuse(t: ExecutionContext, request: Partial<RefuseRequest>): Promise<ApiError> {
  const whole = { method: 'GET', path: '/pets', status: 400, reply: '', contentType: undefined, ...request };
  return (await t.throwsAsync(edge.refuse(whole, CONTEXT), { instanceOf: ApiError })) as ApiError;
}

function post(reply: string, contentType = 'application/json'): Partial<RefuseRequest> {
  return { method: 'POST', path: '/pets', contentType, reply };
}

test('Refusal - an unknown path is ROUTE_NOT_FOUND, without its query', async (t) => {
  for (const path of ['/nothing', '//pets', '/', '', '/pets/1/2', '/docs/pageXjs', '/petstore.v1.PetService']) {
    const error = await refuse(t, { path: `${path}?secret=1`, status: 404 });
    t.deepEqual([error.code, error.message], ['ROUTE_NOT_FOUND', `nothing answers to GET ${path}`]);
  }
});

test('Refusal - a method that the path does not support is METHOD_NOT_ALLOWED with Allow', async (t) => {
  const allowed = {
    '/pets': 'GET, HEAD, POST',
    '/pets/': 'GET, HEAD, POST',
    '/pets/7': 'DELETE, GET, HEAD, PATCH, PUT',
    '/store/orders/7': 'DELETE, GET, HEAD, PATCH',
    '/store/inventory/7': 'GET, HEAD, PUT',
    '/openapi.json': 'GET, HEAD',
    '/docs/page.js': 'GET, HEAD',
  };
  for (const [path, allow] of Object.entries(allowed)) {
    const request = { method: 'OPTIONS', path: `${path}?limit=1`, status: 404, contentType: 'text/plain' };
    const error = await refuse(t, request); // the method is checked before the body
    t.deepEqual([error.code, error.headers.allow], ['METHOD_NOT_ALLOWED', allow]);
    t.true(error.message.includes(allow));
  }
});

/** What the transcoder says, and what the caller gets. */
const WRONG_VALUES = [
  ['/pets', 'pet.category_id: invalid value "a" for type TYPE_INT64', 'categoryId: "a" is not a whole number'],
  ['/pets', 'pet.category_id: invalid value 9223372036854775808 for type TYPE_INT64', /808 is out of range$/],
  ['/pets', 'pet.name: invalid value 5 for type TYPE_STRING', 'name: 5 is not a string'],
  [
    '/pets',
    'pet.status: invalid value "gone" for type type.googleapis.com/petstore.v1.PetStatus',
    'status: "gone" is none of available, pending, sold',
  ],
  ['/pets', ': Proto field is not repeating, cannot start list.', /^body: /],
  ['/pets', 'pet: invalid value "a" for type type.googleapis.com/petstore.v1.NewPet', 'body: "a" is not an object'],
  ['/store/orders', 'order.complete: invalid value 1 for type TYPE_BOOL', 'complete: 1 is neither true nor false'],
  [
    '/store/orders',
    "order.ship_date: invalid value Field 'shipDate', Illegal timestamp format; timestamps must end for type Timestamp",
    'shipDate: Illegal timestamp format',
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

test("Refusal - malformed JSON is MALFORMED_BODY with the first line of the transcoder's message", async (t) => {
  for (const [reply, detail] of [
    ['Closing quote expected in string.\n\n^', 'Closing quote expected in string.'],
    ['Parsing terminated before end of input.\n{"name":"x"}\n  ^', 'Parsing terminated before end of input.'],
    ["Message too deep. Max recursion depth reached for key 'a'", /^.*for key 'a'$/],
    ['', 'it is not JSON'],
    ['upstream connect error', 'upstream connect error'],
    ['{}', '{}'],
  ] as const) {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON']) {
      const { code, message } = await refuse(t, post(reply, type));
      t.is(code, 'MALFORMED_BODY');
      if (typeof detail === 'string') t.is(message, `the request body can't be read: ${detail}`);
      else t.regex(message, detail);
    }
  }
});

test('Refusal - a body with another content type, or without one, is UNSUPPORTED_CONTENT_TYPE', async (t) => {
  for (const type of ['application/x-www-form-urlencoded', 'text/json', '', 'application/jsonp']) {
    t.is((await refuse(t, post('Unexpected token.\na=b\n^', type))).code, 'UNSUPPORTED_CONTENT_TYPE');
  }
});

test('Refusal - the status decides on a body that is too large or too slow, and on unsupported Connect', async (t) => {
  for (const [status, code, grpcStatus] of [
    [413, 'BODY_TOO_LARGE', Status.RESOURCE_EXHAUSTED],
    [408, 'REQUEST_TIMEOUT', Status.DEADLINE_EXCEEDED],
    [415, 'UNSUPPORTED_CONTENT_TYPE', Status.UNIMPLEMENTED],
    [425, 'RATE_LIMITED', Status.RESOURCE_EXHAUSTED],
  ] as const) {
    for (const path of ['/pets', '/nope']) {
      const error = await refuse(t, { ...post('', 'text/plain'), path, status });
      t.deepEqual([error.code, error.grpcStatus], [code, grpcStatus], path);
    }
  }
});

test('Judge - a caller who passes the interceptors is accepted', async (t) => {
  t.deepEqual(await edge.judge({}, CONTEXT), {});
});

test('Failure - a timeout is DEADLINE_EXCEEDED, everything else UNAVAILABLE', async (t) => {
  for (const [status, code] of [
    [504, 'DEADLINE_EXCEEDED'],
    [503, 'UNAVAILABLE'],
    [500, 'UNAVAILABLE'],
  ] as const) {
    t.like(await t.throwsAsync(edge.fail({ status }, CONTEXT), { instanceOf: ApiError }), { code });
  }
});
