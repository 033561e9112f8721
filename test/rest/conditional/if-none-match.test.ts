import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { requestsTo } from '../../support/resources.ts';
import type { RestClient } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1, http2 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** A read of one resource of each kind. */
const reads = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-none-match');

async function tagAt(rest: RestClient, path: string): Promise<string> {
  return (await rest.get(path)).headers.get('etag') ?? 'none';
}

/** Headers that differ from one request to the next. */
const VARYING = ['connection', 'date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
/** Headers about a body. */
const BODY_HEADERS = ['content-type', 'content-length'];

test('If-None-Match - a GET or HEAD by id is a 304 without a body when it still matches', async (t) => {
  const { rest } = t.context;
  for (const { path } of await reads(rest)) {
    const headers = { 'if-none-match': await tagAt(rest, path) };
    for (const method of ['GET', 'HEAD']) {
      const { status, text } = await rest.send(method, path, { headers });
      t.deepEqual({ status, text }, { status: 304, text: '' }, `${method} ${path}`);
    }
  }
});

test('If-None-Match - a 304 has the other headers of the 200: rate limits, deprecation, ETag', async (t) => {
  const { rest } = t.context;
  for (const { path, operation } of await reads(rest)) {
    const full = await rest.get(path);
    const { headers } = await rest.get(path, { headers: { 'if-none-match': '*' } });
    const expected = [...full.headers.keys()].filter((name) => !BODY_HEADERS.includes(name));
    t.deepEqual([...headers.keys()].sort(), expected.sort());
    for (const name of expected.filter((one) => !VARYING.includes(one))) {
      t.is(headers.get(name), full.headers.get(name), name);
    }
    t.true(headers.has('x-ratelimit-remaining') && headers.has('etag'));
    t.is(headers.has('deprecation'), operation.deprecation !== undefined);
  }
});

test('If-None-Match - a GET is a 200 after a change, and a 304 after the change is undone', async (t) => {
  const { rest } = t.context;
  const path = `/pets/${await rest.pet()}`;
  const headers = { 'if-none-match': await tagAt(rest, path) };
  await rest.patch(path, { name: 'Tim' });
  const changed = await rest.get(path, { headers });
  t.is(changed.status, 200);
  t.is(changed.body.name, 'Tim');
  t.not(changed.headers.get('etag'), headers['if-none-match']);
  await rest.patch(path, { name: 'Tom' });
  t.is((await rest.get(path, { headers })).status, 304);
});

test('If-None-Match - accepts a list, weak tags, and * for any existing resource', async (t) => {
  const { rest } = t.context;
  const path = `/categories/${await rest.category()}`;
  const tag = await tagAt(rest, path);
  for (const list of [`W/${tag}`, `"x", ${tag}`, `"x","y", W/${tag} ,`, `"a,b",${tag}`, '*', ` ${tag} `]) {
    t.is((await rest.get(path, { headers: { 'if-none-match': list } })).status, 304, list);
  }
  for (const list of ['"x"', '""', 'W/"x"', `"${tag.slice(1, -2)}"`, `"x${tag.slice(1)}`]) {
    t.is((await rest.get(path, { headers: { 'if-none-match': list } })).status, 200, list);
  }
});

test('If-None-Match - several header lines are one list', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const path = `/categories/${await rest.category()}`;
  const tag = await tagAt(rest, path);
  const lines = ['"x"', tag, '"y"'].map((one) => `If-None-Match: ${one}\r\n`).join('');
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  t.is((await http1(publicAddress, `${head}${lines}\r\n`)).status, 304);
});

test('If-None-Match - over HTTP/2 the response is the same 304', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const path = `/categories/${await rest.category()}`;
  const headers = { authorization: `Bearer ${key}`, 'if-none-match': await tagAt(rest, path) };
  const { status, text } = await http2(publicAddress, { method: 'GET', path, headers });
  t.deepEqual({ status, text }, { status: 304, text: '' });
});

test('If-None-Match - a malformed or empty one is a 400 INVALID_ARGUMENT', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const path = `/pets/${await rest.pet()}`;
  const tag = await tagAt(rest, path);
  const message = 'if-none-match: must be * or a list of entity tags in double quotes, as ETag gives them';
  for (const list of ['', ',', tag.slice(1, -1), tag.slice(1), `${tag} ${tag}`, `*, ${tag}`, `w/${tag}`, '\u00e9']) {
    isError(t, await rest.get(path, { headers: { 'if-none-match': list } }), 400, 'INVALID_ARGUMENT', message);
  }
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  isError(t, await http1(publicAddress, `${head}If-None-Match:\r\n\r\n`), 400, 'INVALID_ARGUMENT', message);
});

test('If-None-Match - for an unknown resource is a 404, and without a key a 401', async (t) => {
  const { rest } = t.context;
  const headers = { 'if-none-match': '*' };
  isError(t, await rest.get('/pets/999999', { headers }), 404, 'PET_NOT_FOUND');
  const path = `/pets/${await rest.pet()}`;
  isError(t, await rest.withKey(undefined).get(path, { headers }), 401, 'API_KEY_MISSING');
});

test('If-None-Match - is ignored by every other operation, whatever its value', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const id = await rest.pet({ categoryId });
  for (const value of ['*', 'nonsense']) {
    const headers = { 'if-none-match': value };
    const json = { name: 'Tom', categoryId };
    const requests = [
      ['GET', '/pets', {}, 200],
      ['HEAD', '/store/inventory', {}, 200],
      ['POST', '/pets', { json }, 201],
      ['PUT', `/pets/${id}`, { json }, 200],
      ['PATCH', `/pets/${id}`, { json }, 200],
      ['DELETE', `/pets/${await rest.pet()}`, {}, 204],
    ] as const;
    for (const [method, path, body, status] of requests) {
      t.is((await rest.send(method, path, { ...body, headers })).status, status, `${method} ${path}`);
    }
  }
});
