/** Malformed, slow or oversized HTTP requests: the fault is the caller's, and every response says so. */
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { exchange, grpcFrame, grpcHeaders, openSocket, sessionOf } from '../support/calls/http2.ts';
import type { RestResponse } from '../support/calls/rest-client.ts';
import { http1 } from '../support/calls/wire.ts';
import { isError } from '../support/contract/errors.ts';
import { statistic } from '../support/service/exposition.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { hostileTest } from './campaign/service.ts';

const test = hostileTest();

const BODY = '{"name":"Cats"}';
const tooLarge = BODY.padEnd(65_537, ' ');
/** RFC 9112, section 7.1, in chunks of 4 KiB. */
const chunked = (body: string) =>
  `${(body.match(/.{1,4096}/g) ?? []).map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked';

test.serial.before(async (t) => {
  // On the first use of a key Envoy waits for the server and does not see that a body is too large. So each of Envoy's
  // threads has used the key before.
  for (let i = 0; i < 20; i += 1)
    t.is((await post(t.context, [`Content-Length: ${BODY.length}`, '', BODY])).status, 201);
});

const HEAD = 'POST /categories HTTP/1.1\r\nContent-Type: application/json\r\n';
const withKey = ({ key }: TestStack) => `Authorization: Bearer ${key}`;

function post(stack: TestStack, lines: readonly string[]): Promise<RestResponse> {
  return http1(stack.publicAddress, HEAD + ['Host: petstore', withKey(stack), ...lines].join('\r\n'));
}

const STATUS = { INVALID_ARGUMENT: 400, BODY_TOO_LARGE: 413 };

function isRefused(t: ExecutionContext<TestStack>, response: RestResponse, code: keyof typeof STATUS): void {
  isError(t, response, STATUS[code], code);
  t.regex(response.headers.get('x-request-id') ?? '', /^\S+$/, 'x-request-id');
  t.is(response.headers.get('retry-after'), null, 'a retry does not help');
}

const NO_CHUNKS = ['ZZ\r\n{}\r\n', '5\r\n{"nam\r\n-1\r\n', 'fffffffffffffffff\r\n{}\r\n'];

const ENCODINGS = ['gzip', 'gzip, chunked', 'identity', 'banana', 'chunked, chunked', 'chunked;x=y'];

for (const [title, code, line, body] of [
  ...ENCODINGS.map((one) => {
    return [`the transfer encoding "${one}"`, 'INVALID_ARGUMENT', `Transfer-Encoding: ${one}`, '0\r\n\r\n'] as const;
  }),
  ...NO_CHUNKS.map((one) => [`the chunk ${JSON.stringify(one)}`, 'INVALID_ARGUMENT', CHUNKED, one] as const),
  ['a body of 1 MiB', 'BODY_TOO_LARGE', `Content-Length: ${2 ** 20}`, ' '.repeat(2 ** 20)],
  ['a larger body that is never sent', 'BODY_TOO_LARGE', `Content-Length: ${tooLarge.length}`, ''],
  ['a body announced as 1 TiB', 'BODY_TOO_LARGE', `Content-Length: ${2 ** 40}`, BODY],
  ['a larger body in chunks without an end', 'BODY_TOO_LARGE', CHUNKED, chunked(tooLarge).slice(0, -5)],
] as const) {
  test(`HTTP errors - ${title} is a ${STATUS[code]}`, async (t) => {
    isRefused(t, await post(t.context, [line, '', body]), code);
  });
}

test('HTTP errors - a Host that is empty, has a user or is given twice is a 400', async (t) => {
  const { publicAddress } = t.context;
  // A route tells a bad Host of the last path, which it redirects, and a filter that of all others.
  const PATHS = { '/pets': 200, '/healthz': 200, '/docs': 200, '/docs/': 302 };
  const request = (path: string, host: string) =>
    http1(publicAddress, `GET ${path} HTTP/1.1\r\n${host}\r\n${withKey(t.context)}\r\n\r\n`);
  for (const [path, status] of Object.entries(PATHS)) {
    for (const host of ['petstore', 'petstore:80', '[::1]:80', 'a_b', '-', '%40', '*']) {
      t.is((await request(path, `Host: ${host}`)).status, status, `${path} ${host}`);
    }
    for (const host of ['Host:', 'Host:  \t', 'Host: @', 'Host: user@petstore', 'Host: a,', 'Host: a\r\nHost: b']) {
      const refused = await request(path, host);
      isRefused(t, refused, 'INVALID_ARGUMENT');
      t.regex(refused.body?.message ?? '', /^Host: must be a host/);
    }
  }
});

test('Invalid HTTP - is a plain 400 of Envoy, whatever id and private headers it has', async (t) => {
  const own = ['x-request-id: 1', 'x-envoy-original-method: HEAD', 'x-petstore-body-type: text/evil'];
  own.push(withKey(t.context));
  for (const start of [
    ...['nonsense', 'GET'],
    'GET pets HTTP/1.1\r\nHost: x',
    'OPTIONS * HTTP/1.1\r\nHost: x',
    'GET /pets#x HTTP/1.1\r\nHost: x',
    'GET /pets/%00 HTTP/1.1\r\nHost: x',
    'GET /pets HTTP/1.1',
    `GET /pets HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(25_000)}`,
    `GET /pets HTTP/1.1\r\nHost: x${'\r\nX-Many: x'.repeat(150)}`,
    'POST /pets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3',
    'POST /pets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked',
    'QUERY /pets HTTP/1.1\r\nHost: x', // without a content type (RFC 10008, section 2)
  ]) {
    const refused = await http1(t.context.publicAddress, `${[start, ...own].join('\r\n')}\r\n\r\n`);
    isRefused(t, refused, 'INVALID_ARGUMENT');
    t.is(refused.body.message, 'the request is not valid HTTP, or its headers are too large');
    t.false(refused.headers.has('x-ratelimit-limit'), start);
  }
});

/** One that the server refuses as malformed HTTP/2 is a 503, and in time ends the connection of all callers. */
test('HTTP errors - no character in a Host, path, method or header makes a request a 5xx', async (t) => {
  const { publicAddress } = t.context;
  const send = async (request: string) => (await http1(publicAddress, Buffer.from(request, 'latin1'))).status;
  for (let code = 0x20; code <= 0xff; code += 1) {
    const character = String.fromCharCode(code);
    const requests = [
      `GET /pets HTTP/1.1\r\nHost: a${character}b`,
      `GET /pets${character}a HTTP/1.1\r\nHost: a`,
      `GET /pets?limit=1&a${character} HTTP/1.1\r\nHost: a`,
      `GET http://a${character}b/pets HTTP/1.1\r\nHost: a`,
      `G${character}T /pets HTTP/1.1\r\nHost: a`,
      `GET /pets HTTP/1.1\r\nHost: a\r\nx-${character}a: b`,
      `GET /pets HTTP/1.1\r\nHost: a\r\nx-a: ${character}b${character}`,
    ];
    const statuses = await Promise.all(requests.map((one) => send(`${one}\r\n${withKey(t.context)}\r\n\r\n`)));
    t.true(Math.max(...statuses) < 500, `0x${code.toString(16)}: ${statuses}`);
  }
});

test('Content types - 128 characters of one count, and no request is a 5xx, however long it is', async (t) => {
  const { key, publicAddress } = t.context;
  const session = await sessionOf(t, publicAddress);
  const types = ['application/grpc+', 'application/grpc;', 'application/grpc-web;', 'application/proto;', 'text/'];
  for (const type of types.map((start) => start.padEnd(9_000, 'a'))) {
    for (const path of ['/pets', Categories.createCategory.path, '/nope']) {
      const headers = { ...PLAIN, ':method': 'POST', ':path': path, 'content-type': type, accept: type };
      const answer = await exchange(session, { ...headers, authorization: `Bearer ${key}` }, { body: Buffer.of(0) });
      const isGrpc = type.startsWith('application/grpc');
      const expected = isGrpc ? [200, 415] : [400, 404, 415];
      t.true(expected.includes(Number(answer.status)), `${type.slice(0, 20)} ${path}: ${answer.status}`);
      t.is(answer.headers.has('grpc-status'), isGrpc, `${type.slice(0, 20)} ${path}`);
    }
  }
});

test('Resets - a connection stays whose calls end early after more than a second, as by their deadlines', async (t) => {
  const { key, publicAddress } = t.context;
  const session = await sessionOf(t, publicAddress);
  const headers = { ':method': 'POST', ':path': '/categories', authorization: `Bearer ${key}` };
  const late = () => exchange(session, headers, { isEnded: false, giveUpMs: 1_200 });
  await Promise.all(Array.from({ length: 40 }, late));
  t.is((await exchange(session, { ':path': '/pets', authorization: `Bearer ${key}` })).status, 200);
});

test('Paths - a long one of bytes that are not ASCII is no 413', async (t) => {
  const { key, publicAddress } = t.context;
  const session = await sessionOf(t, publicAddress);
  const bytes = '\xff'.repeat(22_500);
  for (const [path, status] of [
    [`/nope?x=${bytes}`, 404],
    [`/pets/${bytes}`, 400],
  ] as const)
    t.is((await exchange(session, { ':path': path, authorization: `Bearer ${key}` })).status, status, path.slice(0, 7));
});

test('Frames - a body in 150 of them is MALFORMED_BODY over REST and Connect, of fewer it is read', async (t) => {
  const { key, publicAddress } = t.context;
  const session = await sessionOf(t, publicAddress);
  const message = Categories.createCategory.requestSerialize({ category: { name: 'Cats' } });
  // Spaces behind the JSON, and behind the message a field of a type and a name that no message has.
  const unknown = (size: number) =>
    Buffer.concat([Buffer.of(0x7a, (size & 0x7f) | 0x80, size >> 7), Buffer.alloc(size)]);
  const [few, many] = [130, 180];
  const rest = { ':path': '/categories', 'content-type': 'application/json' };
  const connect = { ':path': Categories.createCategory.path, 'content-type': 'application/proto' };
  for (const [size, fields, status] of [
    [few, rest, 201],
    [few, connect, 200],
    [many, rest, 400],
    [many, connect, 400],
    // What needs no key.
    [few, { ':path': '/healthz', ':method': 'GET' }, 200],
    [many, { ':path': '/healthz', ':method': 'GET' }, 400],
    // What the headers tell comes first.
    [many, { ...rest, ':path': '/nope' }, 404],
    [many, { ...rest, ':method': 'PUT' }, 405],
    [many, { ...rest, ':path': '/nope', 'content-encoding': 'gzip' }, 415],
    [many, { ...connect, ':path': `${connect[':path']}s` }, 404],
    [many, { ...connect, ':method': 'PUT' }, 405],
    [many, { ...connect, 'content-type': 'text/plain' }, 415],
  ] as const) {
    const isRest = fields['content-type'] === rest['content-type'];
    const bytes = isRest ? Buffer.from(BODY.padEnd(size)) : Buffer.concat([message, unknown(size)]);
    const headers = { ...PLAIN, ':method': 'POST', ...fields, authorization: `Bearer ${key}` };
    const answer = await exchange(session, headers, { body: Array.from(bytes, (byte) => Buffer.of(byte)) });
    t.is(answer.status, status, JSON.stringify(fields));
    t.is(/it has 150 frames/.test(String(answer.body)), status === 400, JSON.stringify(fields));
  }
});

test('Frames - those of a body with a length up to 512 are not counted, and a false length ends it', async (t) => {
  const { key, publicAddress } = t.context;
  const session = await sessionOf(t, publicAddress);
  const headers = { ...PLAIN, ':method': 'POST', ':path': '/categories', 'content-type': 'application/json' };
  for (const [told, size, status] of [
    [512, 512, 201],
    [513, 513, 400],
    [100, 513, undefined],
  ] as const) {
    const body = Array.from(Buffer.from(BODY.padEnd(size)), (byte) => Buffer.of(byte));
    const fields = { ...headers, authorization: `Bearer ${key}`, 'content-length': told };
    const answer = await exchange(session, fields, { body });
    t.is(answer.status, status, `${told} ${size}: ${answer.body}`);
  }
});

test('Frames - the body of a key that Envoy does not know yet is read, and no filter fails', async (t) => {
  const { operator, publicAddress, config } = t.context;
  const authorization = `Bearer ${await operator.keyOf({ perMinute: 100, perDay: 100 })}`;
  const headers = { authorization, 'content-type': 'application/json' };
  for (let i = 0; i < 10; i += 1) {
    const { status } = await fetch(`http://${publicAddress}/categories`, { method: 'POST', headers, body: BODY });
    t.is(status, 201);
  }
  t.is(await statistic(config.envoyAdminPort, 'http.public.lua.errors'), 0);
});

/** What a caller with this authorization sends on each of 8 connections, in one write. */
const FRAMES: Readonly<Record<string, (authorization: string) => readonly Buffer[]>> = {
  '15,000 of one message': (authorization) => [
    headersFrame(1, { ...PLAIN, ...grpcHeaders(Categories.createCategory.path), authorization }),
    ...Array.from(grpcFrame(Buffer.alloc(14_995)), (byte) => frame('data', 1, 0, Buffer.of(byte))),
  ],
  'those of 250 requests that are reset at once': (authorization) =>
    Array.from({ length: 250 }, (_, i) => 2 * i + 1).flatMap((id) => [
      headersFrame(id, { ...PLAIN, ':method': 'GET', ':path': '/pets', authorization }, END_STREAM),
      frame('reset', id, 0, Buffer.of(0, 0, 0, 8)),
    ]),
};

/** Not all closed ones: Envoy also closes idle connections to a server that a busy machine makes slow. */
const CLOSED = ['upstream_cx_destroy_with_active_rq', 'http2.outbound_flood', 'http2.outbound_control_flood'];

for (const [title, frames] of Object.entries(FRAMES)) {
  test.serial(`Frames - ${title} close no connection to a server`, async (t) => {
    const { rest, key, publicAddress, config } = t.context;
    const closed = () =>
      Promise.all(CLOSED.map((name) => statistic(config.envoyAdminPort, `cluster.petstore.${name}`)));
    const before = await closed();
    // Envoy closes the connection at the last frame, which is invalid, when it has read the others.
    const bytes = Buffer.concat([PREFACE, ...frames(`Bearer ${key}`), frame('data', 0)]);
    const sockets = Array.from({ length: 8 }, () => openSocket(publicAddress));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.resume().write(bytes);
    await until(() => sockets.every((socket) => socket.closed), 'the end of all connections');
    t.is((await rest.get('/pets')).status, 200);
    t.deepEqual(await closed(), before);
  });
}
