import test from 'ava';
import { checkAgainstDescription, type SeenResponse } from '../support/description.ts';

const RATE = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999', 'x-ratelimit-reset': '1798804800' };
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
function violation(method: string, path: string, response: SeenResponse): string | undefined {
  try {
    checkAgainstDescription(method, path, response);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

test('Description check - responses that match pass', (t) => {
  const found = [
    violation('GET', '/pets?limit=1', seen(200, [PET], { link: '</pets?pageToken=x>; rel="next"' })),
    violation('GET', '/pets/', seen(200, [])),
    violation('HEAD', '/pets', seen(200, undefined)),
    violation('POST', '/pets', seen(201, PET, { location: '/pets/1', etag: '"x"' })),
    violation('GET', '/categories/1', seen(304, undefined, { etag: '"x"' })),
    violation('DELETE', '/pets/1', seen(204, undefined)),
    violation('PUT', '/pets/1', seen(404, error(404, 'PET_NOT_FOUND'))),
    violation('FOO', '/pets', seen(405, error(405, 'METHOD_NOT_ALLOWED'), { allow: 'GET, HEAD, POST' })),
    violation('GET', '/nowhere', seen(404, error(404, 'ROUTE_NOT_FOUND'))),
    violation('GET', '/healthz', { status: 200, headers: new Headers(), text: '' }),
  ];
  t.deepEqual(found, Array(found.length).fill(undefined));
  const headers = new Headers({ 'content-type': 'application/json', 'retry-after': '1' });
  const away = { status: 503, text: JSON.stringify(error(503, 'UNAVAILABLE')), headers };
  t.is(violation('GET', '/pets', away), undefined, 'the limit headers may be missing while the server is unavailable');
  t.regex(violation('GET', '/pets', without('retry-after', away)) ?? '', /Retry-A/);
});

test('Description check - an undocumented status, header, code, field or type is found', (t) => {
  const { categoryId: _, ...withoutCategory } = PET;
  const cases: [expected: RegExp, message: string | undefined][] = [
    [/status is not documented/, violation('DELETE', '/pets/1', seen(200, PET))],
    [/X-RateLimit-Reset is missing/, violation('GET', '/pets', without('x-ratelimit-reset', seen(200, [])))],
    [/X-Request-Id is missing/, violation('GET', '/pets', without('x-request-id', seen(200, [])))],
    [/ETag is missing/, violation('PUT', '/pets/1', seen(200, PET))],
    [/ETag must match/, violation('PUT', '/pets/1', seen(200, PET, { etag: 'W/"x"' }))],
    [/Location is missing/, violation('POST', '/pets', seen(201, PET))],
    [/Sunset is missing/, violation('GET', '/pets/1', seen(200, PET, { deprecation: '@1', link: '<x>' }))],
    [/Remaining.*must be integer/, violation('GET', '/pets', seen(200, [], { 'x-ratelimit-remaining': 'many' }))],
    [
      /the code ORDER_NOT_FOUND is not documented for 404/,
      violation('PUT', '/pets/1', seen(404, error(404, 'ORDER_NOT_FOUND'))),
    ],
    [/the body says 409/, violation('PUT', '/pets/1', seen(404, error(409, 'PET_NOT_FOUND')))],
    [/must NOT have additional/, violation('PUT', '/pets/1', seen(200, { ...PET, colour: 'red' }))],
    [/must NOT have additional/, violation('GET', '/nowhere', seen(404, { ...error(404, 'X'), cause: 'secret' }))],
    [/required property 'categoryId'/, violation('PUT', '/pets/1', seen(200, withoutCategory))],
    [/body\/id must be integer/, violation('PUT', '/pets/1', seen(200, { ...PET, id: '1' }))],
    [/body\/0\/status must be equal/, violation('GET', '/pets', seen(200, [{ ...PET, status: 'gone' }]))],
    [/body\/shipDate must match format/, violation('GET', '/store/orders/1', seen(200, { shipDate: 'soon' }))],
    [/there is a body/, violation('DELETE', '/pets/1', seen(204, PET))],
    [/there is a body/, violation('GET', '/categories/1', seen(304, {}, { etag: '"x"' }))],
    [/there is a body/, violation('HEAD', '/pets', seen(200, []))],
    [/no such method/, violation('PUT', '/pets', seen(200, []))],
    [/content type/, violation('GET', '/pets', seen(200, [], { 'content-type': 'text/plain' }))],
    [/not JSON/, violation('GET', '/nowhere', { ...seen(404, undefined), text: 'not found' })],
  ];
  for (const [expected, message] of cases) t.regex(message ?? 'nothing', expected);
  const whole = violation('GET', '/pets?limit=1', seen(418, { tea: 'pot' })) ?? '';
  t.regex(
    whole,
    /^GET \/pets\?limit=1 answered 418, not as .+\n- the status is.+ x-ratelimit-limit: 1000.+\{"tea":"pot"\}$/s,
  );
});

function without(name: string, response: SeenResponse): SeenResponse {
  const headers = new Headers(response.headers);
  headers.delete(name);
  return { ...response, headers };
}
