import { status as Status } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import type { RefuseRequest } from '../../gen/petstore/edge/v1/edge.ts';
import { edgeService } from '../../src/edge/edge-service.ts';
import { ApiError } from '../../src/errors.ts';
import { loadOperations } from '../../src/proto/operations.ts';

const edge = edgeService(loadOperations().byPath.values());
const CONTEXT = {};
const STATUS = 'type.googleapis.com/petstore.v1.PetStatus';
const JSON_TYPE = 'application/json';

async function refuse(t: ExecutionContext, request: Partial<RefuseRequest>): Promise<ApiError> {
  const whole = {
    method: 'GET',
    path: '/pets',
    status: 400,
    reply: '',
    contentType: undefined,
    ...request,
  };
  return (await t.throwsAsync(edge.refuse(whole, CONTEXT), { instanceOf: ApiError })) as ApiError;
}

function post(detail: string): Partial<RefuseRequest> {
  return { method: 'POST', path: '/pets', contentType: JSON_TYPE, reply: detail };
}

test('Refusal - an unknown path is ROUTE_NOT_FOUND, without its query', async (t) => {
  for (const path of ['/nothing', '//pets', '/', '', '/pets/1/2', '/store', '/store/pets', '/petstore.v1.PetService']) {
    const error = await refuse(t, { path: `${path}?secret=1`, status: 404 });
    t.is(error.code, 'ROUTE_NOT_FOUND');
    t.is(error.message, `nothing answers to GET ${path}`);
  }
});

test('Refusal - a method that the path does not support is METHOD_NOT_ALLOWED with Allow', async (t) => {
  const allowed = {
    '/pets': 'GET, HEAD, POST',
    '/pets/': 'GET, HEAD, POST',
    '/pets/7': 'DELETE, GET, HEAD, PATCH, PUT',
    '/categories': 'GET, HEAD, POST',
    '/categories/7': 'DELETE, GET, HEAD, PATCH, PUT',
    '/store/orders': 'GET, HEAD, POST',
    '/store/orders/7': 'DELETE, GET, HEAD, PATCH',
    '/store/inventory': 'GET, HEAD',
    '/store/inventory/7': 'GET, HEAD, PUT',
  };
  for (const [path, allow] of Object.entries(allowed)) {
    const error = await refuse(t, { method: 'OPTIONS', path: `${path}?limit=1`, status: 404 });
    t.is(error.code, 'METHOD_NOT_ALLOWED');
    t.is(error.headers.allow, allow);
    t.true(error.message.includes(allow));
  }
});

test('Refusal - the interface description and the docs page allow only GET and HEAD', async (t) => {
  for (const path of ['/openapi.json', '/openapi.yaml', '/docs', '/docs/page.js']) {
    const error = await refuse(t, { method: 'DELETE', path: `${path}?x=1`, status: 404 });
    t.is(error.code, 'METHOD_NOT_ALLOWED');
    t.is(error.headers.allow, 'GET, HEAD');
  }
});

test('Refusal - on a path that answers to every method it is not the method that is wrong', async (t) => {
  const error = await refuse(t, { path: '/healthz?colour=red' });
  t.is(error.code, 'INVALID_ARGUMENT');
  t.is(error.message, 'colour: is not a query parameter here');
});

test('Refusal - the method is checked before the body', async (t) => {
  const error = await refuse(t, { method: 'PUT', path: '/pets', status: 404, contentType: 'text/plain' });
  t.is(error.code, 'METHOD_NOT_ALLOWED');
});

test("Refusal - malformed JSON is MALFORMED_BODY with the first line of the transcoder's message", async (t) => {
  const details = [
    'Closing quote expected in string.\n\n^',
    'Unexpected token.\nnonsense\n^',
    'Parsing terminated before end of input.\n{"name":"x"} trailing\n             ^',
    "Message too deep. Max recursion depth reached for key 'a'",
    'Encountered non UTF-8 code points.\n\u00ff":1}\n^',
  ];
  for (const detail of details) {
    const error = await refuse(t, post(detail));
    t.is(error.code, 'MALFORMED_BODY');
    t.is(error.message, `the request body can't be read: ${detail.split('\n')[0]}`);
  }
});

test("Refusal - a value of the wrong type is INVALID_ARGUMENT under the field's JSON name", async (t) => {
  const details = {
    'pet.category_id: invalid value "abc" for type TYPE_INT64': 'categoryId: "abc" is not a whole number',
    'pet.category_id: invalid value 1.5 for type TYPE_INT64': 'categoryId: 1.5 is not a whole number',
    'pet.name: invalid value 5 for type TYPE_STRING': 'name: 5 is not a string',
    'pet.status: invalid value "gone" for type type.googleapis.com/petstore.v1.PetStatus':
      'status: "gone" is none of available, pending, sold',
    'pet.category_id: invalid value 9223372036854775808 for type TYPE_INT64':
      'categoryId: 9223372036854775808 is out of range',
    'order.complete: invalid value "maybe" for type TYPE_BOOL': 'complete: "maybe" is neither true nor false',
    "order.ship_date: invalid value Field 'shipDate', Illegal timestamp format; timestamps must end for type Timestamp":
      'shipDate: Illegal timestamp format',
  };
  for (const [detail, message] of Object.entries(details)) {
    const path = detail.startsWith('order') ? '/store/orders' : '/pets';
    const error = await refuse(t, { ...post(detail), path });
    t.is(error.code, 'INVALID_ARGUMENT');
    t.is(error.message, message);
    t.is(error.violations[0]?.path, detail.split(':')[0]);
  }
});

test('Refusal - a wrong type of the whole body is INVALID_ARGUMENT for the body', async (t) => {
  for (const detail of [
    ': Proto field is not repeating, cannot start list.',
    'pet: invalid value "a" for type type.googleapis.com/petstore.v1.NewPet',
  ]) {
    const error = await refuse(t, post(detail));
    t.is(error.code, 'INVALID_ARGUMENT');
    t.regex(error.message, /^body: /);
  }
});

test('Refusal - a wrong value in path or query is INVALID_ARGUMENT', async (t) => {
  const cases = [
    ['/pets/abc', 'pet_id: invalid value "abc" for type TYPE_INT64', 'petId: "abc" is not a whole number'],
    [
      '/pets?status=a',
      `status: invalid value "a" for type ${STATUS}`,
      'status: "a" is none of available, pending, sold',
    ],
    [
      '/pets?ids=1,2',
      'ids: invalid value "1,2" for type TYPE_INT64',
      'ids: "1,2" is not a whole number: repeat the name for each, ids=1&ids=…',
    ],
    ['/pets?limit=x', 'limit: invalid value "x" for type TYPE_INT32', 'limit: "x" is not a whole number'],
  ] as const;
  for (const [path, detail, message] of cases) {
    const error = await refuse(t, { path, reply: detail });
    t.is(error.code, 'INVALID_ARGUMENT');
    t.is(error.message, message);
  }
});

test('Refusal - a body with another content type, or without one, is UNSUPPORTED_CONTENT_TYPE', async (t) => {
  for (const contentType of ['application/x-www-form-urlencoded', 'text/json', '', 'application/jsonp']) {
    const error = await refuse(t, { ...post('Unexpected token.\na=b\n^'), contentType });
    t.is(error.code, 'UNSUPPORTED_CONTENT_TYPE');
  }
});

test('Refusal - the JSON content type may have parameters and any case', async (t) => {
  for (const contentType of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;x=y']) {
    const error = await refuse(t, { ...post('Unexpected token.'), contentType });
    t.is(error.code, 'MALFORMED_BODY');
  }
});

test("Refusal - an unknown query parameter is reported before the transcoder's error", async (t) => {
  const reply = 'limit: invalid value "x" for type TYPE_INT32';
  const error = await refuse(t, { path: '/pets?limit=x&colour=red', reply });
  t.is(error.code, 'INVALID_ARGUMENT');
  t.regex(error.message, /^colour: /);
});

test('Refusal - a body that is too large is BODY_TOO_LARGE', async (t) => {
  const detail = "Request rejected because the transcoder's internal buffer size exceeds the configured limit.";
  t.is((await refuse(t, { ...post(detail), status: 413 })).code, 'BODY_TOO_LARGE');
});

test('Refusal - an empty or unknown message of Envoy is MALFORMED_BODY', async (t) => {
  for (const reply of ['', 'upstream connect error', '{}', 'null', '[]']) {
    const error = await refuse(t, { method: 'POST', contentType: JSON_TYPE, reply });
    t.is(error.code, 'MALFORMED_BODY', reply);
  }
});

test('Refusal - a wrong value in a HEAD, for which Envoy has no message, is INVALID_ARGUMENT', async (t) => {
  t.is((await refuse(t, { method: 'HEAD', path: '/pets/abc' })).code, 'INVALID_ARGUMENT');
});

test('Refusal - the response to a long request is short', async (t) => {
  const long = 'x'.repeat(100_000);
  const errors = [
    await refuse(t, { path: `/${long}`, status: 404 }),
    await refuse(t, { method: long, status: 404 }),
    await refuse(t, post(`pet.category_id: invalid value "${long}" for type TYPE_INT64`)),
    await refuse(t, post(`${long}: ${long}`)),
    await refuse(t, post(long)),
    await refuse(t, { ...post(''), contentType: long }),
    await refuse(t, { path: `/pets?${long}=1` }),
  ];
  for (const { message, violations } of errors) {
    t.true(message.length < 2_000);
    t.true(JSON.stringify(violations).length < 2_000);
  }
});

test('Refusal - an unsupported Connect call is UNIMPLEMENTED in gRPC, and says what to send', async (t) => {
  const error = await refuse(t, { ...post(''), path: '/petstore.v1.PetService/ListPets', status: 415 });
  t.deepEqual([error.code, error.grpcStatus], ['UNSUPPORTED_CONTENT_TYPE', Status.UNIMPLEMENTED]);
  t.regex(error.message, /send "Content-Type: application\/proto"/);
});

test('Refusal - a body that is too slow is REQUEST_TIMEOUT, whatever else is wrong', async (t) => {
  for (const path of ['/pets', '/nope']) {
    t.is((await refuse(t, { ...post(''), path, status: 408 })).code, 'REQUEST_TIMEOUT');
  }
});

test('Judge - a caller who passes the interceptors is accepted', async (t) => {
  t.deepEqual(await edge.judge({}, CONTEXT), {});
});

test('Failure - a timeout is DEADLINE_EXCEEDED, everything else UNAVAILABLE', async (t) => {
  const codes = [
    [504, 'DEADLINE_EXCEEDED'],
    [503, 'UNAVAILABLE'],
    [502, 'UNAVAILABLE'],
    [500, 'UNAVAILABLE'],
  ] as const;
  for (const [status, code] of codes) {
    const error = await t.throwsAsync(edge.fail({ status }, CONTEXT), { instanceOf: ApiError });
    t.is((error as ApiError).code, code);
  }
});
