/**
 * The dearest forms of requests: a row for each kind of the table of kinds (envoy/config/kinds.ts) and each public
 * operation, as the contract and the wire admit them.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { OutgoingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { generateKey } from '../src/platform/access/keys/format.ts';
import { PLAIN } from '../test/support/calls/frames.ts';
import { exchange } from '../test/support/calls/http2.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../test/support/calls/sockets.ts';
import { PUBLIC, requestTo } from '../test/support/contract/resources.ts';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';

export interface Price {
  readonly name: string;
  /** Sends one, or `unit` of them. Resolves with the status. */
  readonly send: () => Promise<string>;
  /** For how many requests it counts. */
  readonly unit?: number;
  /** What bounds it by account, before the work, so that it may cost more. */
  readonly boundedBy?: string;
}

export interface Forms {
  readonly ordinary: Price;
  readonly prices: readonly Price[];
}

const MAX = 65_536;
/** Fields that no message has: each is read, and ignored. */
const UNKNOWN_FIELDS = Buffer.alloc(MAX, Buffer.of(0x98, 0x06, 0x01)).subarray(0, MAX - (MAX % 3));
/** JSON whose reading takes longest for its size. */
const JSON_FORMS = {
  'unknown members': `{"name":"a"${',"":0'.repeat(12_000)}}`,
  'different members': `{"name":"a"${Array.from({ length: 6_500 }, (_, index) => `,"${index}":0`).join('')}}`,
  'objects in a member': `{"name":"a","x":[${'{"":0},'.repeat(9_000)}0]}`,
  'lists in a member': `{"name":"a","x":[${'[],'.repeat(21_000)}0]}`,
  escapes: `{"name":"a","x":"${'\\u0041'.repeat(10_000)}"}`,
  'numbers in a member': `{"name":"a","x":[${'0,'.repeat(32_000)}0]}`,
  'texts in a member': `{"name":"a","x":[${'"",'.repeat(21_000)}0]}`,
  digits: `{"name":"a","x":${'9'.repeat(65_000)}}`,
} as const;
const LARGE = { name: 'n'.repeat(200), description: '\x01'.repeat(2_000) };

interface Sending {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | undefined;
}

function senderTo({ publicAddress }: TestStack, t: Scope, from: string) {
  const { hostname, port } = new URL(`http://${publicAddress}`);
  const agent = new Agent({ keepAlive: true, localAddress: from });
  t.teardown(() => agent.destroy());
  return (path: string, { method = 'GET', headers = {}, body }: Sending = {}) =>
    new Promise<string>((resolve, reject) => {
      const length =
        body === undefined || headers['transfer-encoding'] ? {} : { 'content-length': Buffer.byteLength(body) };
      const sent = request({ agent, host: hostname, port, method, path, headers: { ...length, ...headers } }, (got) => {
        got.resume().on('close', () => resolve(`${got.statusCode}`));
      });
      sent.on('error', (error) =>
        (error as { code?: string }).code === 'ECONNRESET' ? resolve('reset') : reject(error),
      );
      sent.end(body);
    });
}

/** Envoy closes a connection that is not in use. */
function grpcSenderTo(stack: TestStack, t: Scope, from: string) {
  const open = () => openSession(targetOf(stack.publicAddress, from));
  let opening: ReturnType<typeof open> | undefined;
  t.teardown(async () => (await opening)?.destroy());
  return async (path: string, headers: OutgoingHttpHeaders, body: Buffer, giveUpMs = 60_000) => {
    opening ??= open();
    if ((await opening).closed) opening = open();
    const session = await opening;
    const got = await exchange(session, { ...PLAIN, ...grpcHeaders(path), ...headers }, { body, giveUpMs });
    if (got.outcome === 'closed') opening = undefined; // as after many resets
    return got.outcome === 'answered' ? `grpc ${got.headers.get('grpc-status')}` : got.outcome;
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const GZIP = { 'grpc-encoding': 'gzip' };
const HEALTH = '/grpc.health.v1.Health/Check';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

/** Without a valid key. */
export async function KEYLESS(t: Scope, stack: TestStack): Promise<Forms> {
  const [send, grpc] = [senderTo(stack, t, '127.0.0.7'), grpcSenderTo(stack, t, '127.0.0.8')];
  const { operator } = stack;
  const { id } = await operator.account({ perMinute: 1, perDay: 1_000_000 });
  const over = { authorization: `Bearer ${(await operator.key(id)).key}` };
  for (let count = 0; count < 25; count += 1) await send('/pets/1', { headers: over });
  const post = (headers: OutgoingHttpHeaders, body: string | Buffer, path = '/categories') =>
    send(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });
  const body = JSON_FORMS['objects in a member'];
  const guess = () => ({ authorization: `Bearer ${generateKey()}` });
  const large = grpcFrame(UNKNOWN_FIELDS);
  const small = grpcFrame(gzipSync(UNKNOWN_FIELDS), true);
  const asks = Buffer.concat(Array.from({ length: 10 }, () => grpcFrame(Buffer.of(0x3a, 0x01, 0x2a))));
  const [list, file] = [
    '/petstore.v1.CategoryService/ListCategories',
    ['/openapi.yaml', '/docs.md', '/petstore.binpb'],
  ];
  return {
    ordinary: { name: 'GET, refused', send: () => send('/pets/1') },
    prices: [
      { name: 'REST: POST of 64 KB, refused', send: () => post({}, body) },
      { name: 'REST: POST in chunks, refused', send: () => post({ 'transfer-encoding': 'chunked' }, body) },
      { name: 'REST: POST of 64 KB, an invented key', send: () => post(guess(), body) },
      { name: 'REST: GET, a key over its limit', send: () => send('/pets/1', { headers: over }) },
      { name: 'REST: POST of 64 KB, a key over its limit', send: () => post(over, body) },
      { name: 'Connect: 64 KB, refused', send: () => post({ 'content-type': 'application/proto' }, large, list) },
      {
        name: 'Connect: 64 KB, a key over its limit',
        send: () => post({ ...over, 'content-type': 'application/proto' }, UNKNOWN_FIELDS, list),
      },
      { name: 'gRPC: 64 KB, refused', send: () => grpc(list, {}, large) },
      { name: 'gRPC: compressed, refused', send: () => grpc(list, GZIP, small) },
      { name: 'gRPC: 64 KB, a key over its limit', send: () => grpc(list, over, large) },
      {
        name: 'gRPC-Web in text: 64 KB, refused',
        send: () =>
          post({ 'content-type': 'application/grpc-web-text' }, large.toString('base64').slice(0, 65_000), list),
      },
      { name: 'redirect', send: () => send('/docs/') },
      { name: '/healthz', send: () => send('/healthz') },
      {
        name: '/healthz with a body in chunks',
        send: () =>
          send('/healthz', {
            method: 'POST',
            headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' },
            body: body.slice(0, 16_000),
          }),
      },
      {
        name: 'file: /docs/swagger-ui-bundle.js, which counts twice',
        send: () => send('/docs/swagger-ui-bundle.js'),
        unit: 2,
      },
      ...file.map((path) => ({ name: `file: ${path}`, send: () => send(path) })),
      { name: 'file: HEAD /openapi.yaml', send: () => send('/openapi.yaml', { method: 'HEAD' }) },
      { name: 'health check', send: () => grpc(HEALTH, {}, grpcFrame()) },
      { name: 'health check of 64 KB', send: () => grpc(HEALTH, {}, large) },
      { name: 'health check, compressed', send: () => grpc(HEALTH, GZIP, small) },
      {
        name: 'reflection: a list of services',
        send: () => grpc(REFLECTION, {}, grpcFrame(Buffer.of(0x3a, 0x01, 0x2a))),
      },
      { name: 'reflection: 10 lists in a stream, each', send: () => grpc(REFLECTION, {}, asks), unit: 10 },
      { name: 'reflection, compressed', send: () => grpc(REFLECTION, GZIP, small) },
    ],
  };
}

/** With a key, within its plan. */
export async function KEYED(t: Scope, stack: TestStack): Promise<Forms> {
  const { key, rest } = stack;
  const authorization = `Bearer ${key}`;
  const [plain, grpcTo] = [senderTo(stack, t, '127.0.0.9'), grpcSenderTo(stack, t, '127.0.0.10')];
  const send = (path: string, { headers, ...sending }: Sending = {}) =>
    plain(path, { ...sending, headers: { authorization, ...headers } });
  const write = (method: string, path: string, body: object | string, headers: OutgoingHttpHeaders = {}) =>
    send(path, {
      method,
      headers: { ...JSON_TYPE, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const grpc = (path: string, body: Buffer, headers: OutgoingHttpHeaders = {}, giveUpMs?: number) =>
    grpcTo(path, { authorization, ...headers }, body, giveUpMs);
  const category = await rest.category();
  const pet = await rest.pet({ stock: 1_000_000_000 });
  const ids = Array.from({ length: 100 }, (_, index) => `ids=${1 + index * 997}`).join('&');
  const replayed = { 'idempotency-key': randomUUID() };
  await write('POST', '/categories', LARGE, replayed);
  const [list, events] = ['/petstore.v1.CategoryService/ListCategories', '/petstore.v1.EventService/ListEvents'];
  const deep = Buffer.alloc(9, 0xff);
  const token = (number: number, after: number) => {
    deep.writeUInt8(number, 0);
    deep.writeBigInt64BE(BigInt(after), 1);
    return deep.toString('base64url');
  };
  const usual = await Promise.all(
    PUBLIC.filter(({ isStream }) => !isStream).map(async (operation) => {
      if (operation.method === 'DELETE' || operation.method === 'POST') return { name: '', send: async () => '' };
      const { method, path, json } = await requestTo(rest, operation);
      return { name: `${method} ${operation.template}`, send: () => (json ? write(method, path, json) : send(path)) };
    }),
  );
  const made = {
    'POST /pets': ['/pets', () => ({ name: 'Tom', categoryId: category })],
    'POST /categories, the largest': ['/categories', () => LARGE],
    'POST /store/orders': ['/store/orders', () => ({ petId: pet, quantity: 1 })],
  } as const;
  return {
    ordinary: { name: 'GET /pets/{petId}', send: () => send('/pets/1') },
    prices: [
      ...usual.filter(({ name }) => name !== ''),
      ...Object.entries(made).map(([name, [path, body]]) => ({ name, send: () => write('POST', path, body()) })),
      ...Object.entries(made).map(([name, [path, body]]) => ({
        name: `${name}, with a new idempotency key`,
        send: () => write('POST', path, body(), { 'idempotency-key': randomUUID() }),
      })),
      { name: 'POST /categories, the largest, a replay', send: () => write('POST', '/categories', LARGE, replayed) },
      { name: 'DELETE /categories/{categoryId}, 404', send: () => send('/categories/999999', { method: 'DELETE' }) },
      {
        name: 'POST and DELETE of a pet, each',
        unit: 2,
        send: async () => {
          const { id } = await rest.created('/pets', { name: 'a', categoryId: category });
          return send(`/pets/${id}`, { method: 'DELETE' });
        },
      },
      {
        name: 'PUT /categories, the largest, changed',
        send: () => write('PUT', `/categories/${category}`, { ...LARGE, name: randomUUID() }),
      },
      { name: 'PATCH of one pet by all, changed', send: () => write('PATCH', `/pets/${pet}`, { name: randomUUID() }) },
      {
        name: 'PUT /store/inventory of one pet by all',
        send: () => write('PUT', `/store/inventory/${pet}`, { quantity: Math.floor(Math.random() * 1e9) }),
      },
      { name: 'GET /pets?limit=100', send: () => send('/pets?limit=100') },
      { name: 'GET /pets?limit=100, the last page', send: () => send(`/pets?limit=100&pageToken=${token(1, 99_800)}`) },
      { name: 'GET /pets?status=sold&limit=100', send: () => send('/pets?status=sold&limit=100') },
      { name: 'GET /pets of a category without', send: () => send('/pets?categoryId=999999&status=sold&limit=100') },
      { name: 'GET /pets?ids, 100 of them', send: () => send(`/pets?${ids}`) },
      { name: 'GET /categories?limit=100, the largest', send: () => send('/categories?limit=100') },
      { name: 'HEAD /categories?limit=100', send: () => send('/categories?limit=100', { method: 'HEAD' }) },
      { name: 'GET /categories, in pages of 1', send: () => send(`/categories?limit=1&pageToken=${token(2, 500)}`) },
      { name: 'GET /store/orders?limit=100', send: () => send('/store/orders?limit=100') },
      { name: 'GET /store/inventory?limit=100', send: () => send('/store/inventory?limit=100') },
      { name: 'GET /events?limit=100, the largest', send: () => send('/events?limit=100') },
      { name: 'GET /events?types= of a rare type', send: () => send('/events?types=order.deleted&limit=100') },
      { name: 'GET /events?types= of all', send: () => send('/events?types=category.created&limit=100') },
      {
        name: 'GET /events?types=, in the middle of many',
        send: () => send('/events?types=order.deleted&limit=1&after=50000'),
      },
      { name: 'GET /events, an id far ahead', send: () => send('/events?after=9000000000') },
      ...Object.entries(JSON_FORMS).map(([name, body]) => ({
        name: `POST of 64 KB: ${name}`,
        send: () => write('POST', '/pets', body),
      })),
      {
        name: 'GET with 64 KB',
        send: () => send('/pets/1', { headers: JSON_TYPE, body: JSON_FORMS['objects in a member'] }),
      },
      {
        name: 'Connect: 64 KB',
        send: () =>
          send(list, { method: 'POST', headers: { 'content-type': 'application/proto' }, body: UNKNOWN_FIELDS }),
      },
      { name: 'Connect: JSON', send: () => write('POST', list, JSON_FORMS['different members']) },
      { name: 'gRPC: 64 KB of unknown fields', send: () => grpc(list, grpcFrame(UNKNOWN_FIELDS)) },
      { name: 'gRPC: the same, compressed', send: () => grpc(list, grpcFrame(gzipSync(UNKNOWN_FIELDS), true), GZIP) },
      {
        name: 'gRPC: events of a rare type',
        send: () => grpc(events, grpcFrame(Buffer.concat([Buffer.of(0x12, 13), Buffer.from('order.deleted')]))),
      },
      {
        name: 'GET of large pages, given up at once',
        send: async () => {
          await grpc(list, grpcFrame(Buffer.of(0x08, 100)), {}, 2);
          return 'left';
        },
      },
      {
        name: 'GET /events/stream, a second from the oldest',
        boundedBy: '50 pages a second by account',
        send: () => grpc('/petstore.v1.EventService/WatchEvents', grpcFrame(Buffer.of(0x08, 0x01)), {}, 1_000),
      },
    ],
  };
}
