/** Malformed, slow or oversized HTTP requests: the fault is the caller's, and every response says so. */
import type { ExecutionContext, TestFn } from 'ava';
import { isError } from '../support/contract.ts';
import { halfRequest } from '../support/hostile/half-request.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { targetOf } from '../support/hostile/sockets.ts';
import { testUnless } from '../support/programs.ts';
import type { RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { http1, http2 } from '../support/wire.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack();
  // On the first use of a key Envoy waits for the server and does not see that a body is too large. So each of Envoy's
  // threads has used the key before.
  const { publicAddress } = t.context;
  const short = post(t.context, 'Host: petstore', `Content-Length: ${BODY.length}`, '', BODY);
  for (let i = 0; i < 20; i += 1) t.is((await http1(publicAddress, short)).status, 201);
});
test.after.always((t) => t.context.close());

type Context = ExecutionContext<TestStack>;

function isRefused(t: Context, response: RestResponse, status: number, code: string, what: string): void {
  t.is(response.status, status, what);
  isError(t, response, status, code);
  t.regex(response.headers.get('x-request-id') ?? '', /^\S+$/, `${what}: x-request-id`);
  t.is(response.headers.get('retry-after'), null, `${what}: a retry does not help`);
}

function post({ key }: TestStack, ...lines: readonly string[]): string {
  const own = ['POST /categories HTTP/1.1', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
  return [...own, ...lines].join('\r\n');
}

for (const encoding of ['gzip', 'gzip, chunked', 'identity', 'banana', 'chunked, chunked', 'chunked;x=y']) {
  test(`HTTP errors - the transfer encoding "${encoding}" is a 400`, async (t) => {
    const request = post(t.context, 'Host: petstore', `Transfer-Encoding: ${encoding}`, '', '0\r\n\r\n');
    isRefused(t, await http1(t.context.publicAddress, request), 400, 'INVALID_ARGUMENT', encoding);
  });
}

for (const host of ['Host:', 'Host: ', 'Host:  \t']) {
  test(`HTTP errors - an empty host is a 400: ${JSON.stringify(host)}`, async (t) => {
    const { publicAddress, key } = t.context;
    const get = `GET /pets HTTP/1.1\r\n${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    isRefused(t, await http1(publicAddress, get), 400, 'INVALID_ARGUMENT', 'GET');
    const posted = post(t.context, host, 'Content-Length: 15', '', '{"name":"Cats"}');
    isRefused(t, await http1(publicAddress, posted), 400, 'INVALID_ARGUMENT', 'POST');
  });
}

const NO_CHUNKS = ['ZZ\r\n{}\r\n', '-1\r\n', 'fffffffffffffffff\r\n{}\r\n'];

for (const chunk of [...NO_CHUNKS, ...NO_CHUNKS.map((bad) => `5\r\n{"nam\r\n${bad}`)]) {
  test(`HTTP errors - a malformed chunk is a 400: ${JSON.stringify(chunk)}`, async (t) => {
    const request = post(t.context, 'Host: petstore', 'Transfer-Encoding: chunked', '', chunk);
    isRefused(t, await http1(t.context.publicAddress, request), 400, 'INVALID_ARGUMENT', 'it');
  });
}

const MAX_BYTES = 65_536;
const BODY = '{"name":"Cats"}';
const largest = BODY.padEnd(MAX_BYTES, ' ');
const tooLarge = `${largest} `;
/** RFC 9112, section 7.1, in chunks of 4 KiB. */
const chunked = (body: string) =>
  `${(body.match(/.{1,4096}/g) ?? []).map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;

test('HTTP errors - a body of 64 KiB is read', async (t) => {
  const { publicAddress, key } = t.context;
  const length = post(t.context, 'Host: petstore', `Content-Length: ${MAX_BYTES}`, '', largest);
  t.is((await http1(publicAddress, length)).status, 201);
  const chunks = post(t.context, 'Host: petstore', 'Transfer-Encoding: chunked', '', chunked(largest));
  t.is((await http1(publicAddress, chunks)).status, 201);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  t.is((await http2(publicAddress, { method: 'POST', path: '/categories', headers, body: largest })).status, 201);
});

for (const [title, lines] of Object.entries({
  'of 64 KiB and one byte': [`Content-Length: ${tooLarge.length}`, '', tooLarge],
  'of 1 MiB': [`Content-Length: ${2 ** 20}`, '', ' '.repeat(2 ** 20)],
  'that is never sent': [`Content-Length: ${tooLarge.length}`, '', ''],
  'announced as 1 TiB': [`Content-Length: ${2 ** 40}`, '', BODY],
  'in chunks': ['Transfer-Encoding: chunked', '', chunked(tooLarge)],
  'in chunks without an end': ['Transfer-Encoding: chunked', '', chunked(tooLarge).slice(0, -5)],
})) {
  test(`HTTP errors - a larger body ${title} is a 413`, async (t) => {
    const response = await http1(t.context.publicAddress, post(t.context, 'Host: petstore', ...lines));
    isRefused(t, response, 413, 'BODY_TOO_LARGE', title);
  });
}

for (const [title, length] of Object.entries({
  'with its length': { 'content-length': tooLarge.length },
  'without its length': {},
})) {
  test(`HTTP errors - a larger body over HTTP/2 ${title} is a 413`, async (t) => {
    const { publicAddress, key } = t.context;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...length };
    const response = await http2(publicAddress, { method: 'POST', path: '/categories', headers, body: tooLarge });
    isRefused(t, response, 413, 'BODY_TOO_LARGE', title);
  });
}

test('HTTP errors - an anonymous caller gets a 401 and not a 413', async (t) => {
  const { publicAddress } = t.context;
  const head = 'POST /categories HTTP/1.1\r\nHost: petstore\r\nContent-Type: application/json\r\n';
  const refuse = (response: RestResponse, what: string) => isRefused(t, response, 401, 'API_KEY_MISSING', what);
  refuse(await http1(publicAddress, `${head}Content-Length: ${tooLarge.length}\r\n\r\n${tooLarge}`), 'a length');
  refuse(await http1(publicAddress, `${head}Transfer-Encoding: chunked\r\n\r\n${chunked(tooLarge)}`), 'chunks');
  const headers = { 'content-type': 'application/json' };
  refuse(await http2(publicAddress, { method: 'POST', path: '/categories', headers, body: tooLarge }), 'HTTP/2');
});

const SLOW = {
  'that is not sent': ['Content-Length: 15', '', ''],
  'that is half sent': ['Content-Length: 15', '', '{"name"'],
  'without its last chunk': ['Transfer-Encoding: chunked', '', '7\r\n{"name"\r\n'],
};

for (const [title, lines] of Object.entries(SLOW)) {
  test(`HTTP errors - a body ${title} is a 408 after 30 s`, async (t) => {
    const startedAtMs = performance.now();
    const response = await http1(t.context.publicAddress, post(t.context, 'Host: petstore', ...lines));
    isRefused(t, response, 408, 'REQUEST_TIMEOUT', title);
    const tookS = (performance.now() - startedAtMs) / 1_000;
    t.true(tookS > 25 && tookS < 40, `it took ${tookS} s`);
  });
}

test('HTTP errors - half a body over HTTP/2 is a 408 too', async (t) => {
  const { publicAddress, key } = t.context;
  const startedAtMs = performance.now();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await halfRequest(targetOf(publicAddress, '127.0.0.1'), headers, '{"name"');
  isRefused(t, response, 408, 'REQUEST_TIMEOUT', 'HTTP/2');
  const tookS = (performance.now() - startedAtMs) / 1_000;
  t.true(tookS > 25 && tookS < 40, `it took ${tookS} s`);
});
