import test from 'ava';
import { checkAgainstDescription, type SeenResponse } from '../support/contract/description.ts';

const RATE = {
  ...{ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999', 'x-ratelimit-reset': '1798804800' },
  ...{ 'ratelimit-policy': '"minute";q=1000;w=60', ratelimit: '"minute";r=999;t=12' },
};
const COMMON = { ...RATE, 'x-request-id': 'abc', 'content-type': 'application/json' };
const PET = { id: 1, name: 'Tom', categoryId: 1, status: 'available' };

function seen(status: number, body: unknown, headers: Record<string, string> = {}): SeenResponse {
  const text = body === undefined ? '' : JSON.stringify(body);
  return { status, headers: new Headers({ ...COMMON, ...headers }), text };
}

function error(status: number, code: string): object {
  return { code, message: 'what is wrong', status };
}

/** Returns the error for a response; undefined when the response matches the description. */
function violation(request: string, response: SeenResponse): string | undefined {
  const [method = '', path = ''] = request.split(' ');
  try {
    checkAgainstDescription(method, path, response);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

const AWAY = without('x-request-id', seen(503, error(503, 'UNAVAILABLE'), { 'retry-after': '1' }));

test('Description check - an undocumented status, header, code, field or type is found', (t) => {
  const { categoryId: _, ...withoutCategory } = PET;
  for (const [expected, request, response] of [
    [/status is not documented/, 'DELETE /pets/1', seen(200, PET)],
    [/Retry-After is missing/, 'GET /pets', without('retry-after', AWAY)],
    [/the internal header x-petstore-code/, 'GET /healthz', seen(200, undefined, { 'x-petstore-code': 'X' })],
    [/ETag must match/, 'PUT /pets/1', seen(200, PET, { etag: 'W/"x"' })],
    [/Location is missing/, 'POST /pets', seen(201, PET)],
    [/Sunset is missing/, 'GET /pets/1', seen(200, PET, { deprecation: '@1', link: '<x>' })],
    [/Remaining.*must be integer/, 'GET /pets', seen(200, [], { 'x-ratelimit-remaining': 'many' })],
    [/the code ORDER_NOT_FOUND is not documented for 404/, 'PUT /pets/1', seen(404, error(404, 'ORDER_NOT_FOUND'))],
    [/the body says 409/, 'PUT /pets/1', seen(404, error(409, 'PET_NOT_FOUND'))],
    [/must NOT have additional/, 'PUT /pets/1', seen(200, { ...PET, colour: 'red' })],
    [/required property 'categoryId'/, 'PUT /pets/1', seen(200, withoutCategory)],
    [/body\/shipDate must match format/, 'GET /store/orders/1', seen(200, { shipDate: 'soon' })],
    [/there is a body/, 'HEAD /pets', seen(200, [])],
    [/no such method/, 'PUT /pets', seen(200, [])],
    [/content type/, 'GET /pets', seen(200, [], { 'content-type': 'text/plain' })],
    [/not JSON/, 'GET /nowhere', { ...seen(404, undefined), text: 'not found' }],
    [
      /^GET \/pets answered 418, not as .+\n- the status is.+ x-ratelimit-limit: 1000.+\{\}$/s,
      'GET /pets',
      seen(418, {}),
    ],
  ] as const) {
    t.regex(violation(request, response) ?? 'nothing', expected);
  }
});

function without(name: string, response: SeenResponse): SeenResponse {
  const headers = new Headers(response.headers);
  headers.delete(name);
  return { ...response, headers };
}
