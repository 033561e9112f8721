/** The Connect protocol (https://connectrpc.com/docs/protocol) on the public port. */

import { execFile } from 'node:child_process';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { BadRequest, ErrorInfo, RetryInfo } from '../../../gen/google/rpc/error_details.ts';
import {
  CategoryServiceService as Categories,
  Category,
  CreateCategoryRequest,
  DeleteCategoryRequest,
  GetCategoryRequest,
  ListCategoriesRequest,
  ListCategoriesResponse,
} from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../../src/keys/format.ts';
import { ROOT } from '../../cli/command.ts';
import { isError } from '../../support/contract.ts';
import { halfRequest } from '../../support/hostile/half-request.ts';
import { openSocket, targetOf } from '../../support/hostile/sockets.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<TestStack>;
type Context = ExecutionContext<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

interface ConnectAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

const INTERNAL_HEADER = /^(x-petstore-|x-envoy-|grpc-)/;

/** A unary call by hand. Headers given here replace what a client sends; an empty one is not sent. */
async function call(
  { rest, key }: Pick<TestStack, 'rest' | 'key'>,
  path: string,
  message: Uint8Array,
  changes: Readonly<Record<string, string>> = {},
): Promise<ConnectAnswer> {
  const sent = {
    'content-type': 'application/proto',
    'connect-protocol-version': '1',
    authorization: `Bearer ${key}`,
    ...changes,
  };
  const headers = Object.entries(sent).filter(([, value]) => value !== '');
  const response = await fetch(`${rest.url}${path}`, { method: 'POST', headers, body: Buffer.from(message) });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

/** What every answer has: the limits, the request's id, its length, and nothing that is Envoy's or the server's own. */
function isWhole(t: Context, { headers, bytes }: ConnectAnswer): void {
  for (const name of ['limit', 'remaining', 'reset']) t.regex(headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, name);
  t.regex(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  t.is(headers.get('content-length'), String(bytes.length));
  t.deepEqual(
    [...headers.keys()].filter((name) => INTERNAL_HEADER.test(name)),
    [],
  );
}

function isSuccess(t: Context, answer: ConnectAnswer): Buffer {
  t.is(answer.status, 200, answer.bytes.toString());
  t.is(answer.headers.get('content-type'), 'application/proto');
  isWhole(t, answer);
  return answer.bytes;
}

/** Asserts the error's shape; returns its message and the bytes of its details by type. */
function isConnectError(t: Context, answer: ConnectAnswer, status: number, code: string, reason: string) {
  const text = answer.bytes.toString();
  t.is(answer.status, status, text);
  t.is(answer.headers.get('content-type'), 'application/json');
  isWhole(t, answer);
  const error = JSON.parse(text);
  t.deepEqual(Object.keys(error), ['code', 'message', 'details']);
  t.is(error.code, code);
  const details = new Map<string, Buffer>();
  for (const { type, value } of error.details) details.set(type, Buffer.from(value, 'base64'));
  const info = ErrorInfo.decode(details.get('google.rpc.ErrorInfo') ?? Buffer.of());
  t.deepEqual([info.reason, info.domain], [reason, 'petstore']);
  return { message: error.message as string, details };
}

const cats = CreateCategoryRequest.encode({ category: { name: 'Cats' } }).finish();
const list = ListCategoriesRequest.encode({ pageToken: '' }).finish();

/** Runs `buf curl` as docs/clients.md shows it. */
function bufCurl({ publicAddress }: TestStack, method: string, data: string, ...options: readonly string[]) {
  const url = `http://${publicAddress}/petstore.v1.${method}`;
  const args = ['curl', '--protocol', 'connect', '--schema', 'proto', ...options, '--data', data, url];
  return new Promise<{ failed: boolean; output: string; errors: string }>((resolve) => {
    execFile(`${ROOT}node_modules/.bin/buf`, args, { cwd: ROOT }, (error, output, errors) => {
      resolve({ failed: error !== null, output, errors });
    });
  });
}

test('buf curl - calls over Connect, over HTTP/1.1 and HTTP/2, and is told of an error with its details', async (t) => {
  const key = ['--header', `Authorization: Bearer ${t.context.key}`];
  for (const http of [[], ['--http2-prior-knowledge']]) {
    const named = '{"category":{"name":"Cats"}}';
    const made = await bufCurl(t.context, 'CategoryService/CreateCategory', named, ...http, ...key);
    t.is(JSON.parse(made.output).name, 'Cats', made.errors);
    const all = await bufCurl(t.context, 'CategoryService/ListCategories', '{}', ...http, ...key);
    t.true(JSON.parse(all.output).categories.length > 0, all.errors);
    const refused = await bufCurl(t.context, 'CategoryService/CreateCategory', '{}', ...http, ...key);
    t.true(refused.failed);
    const { code, message, details } = JSON.parse(refused.errors);
    t.deepEqual([code, message], ['invalid_argument', 'name: value is required']);
    t.deepEqual(
      details.map(({ type }: { type: string }) => type),
      ['google.rpc.ErrorInfo', 'google.rpc.BadRequest'],
    );
    const anonymous = await bufCurl(t.context, 'CategoryService/CreateCategory', named, ...http);
    t.is(JSON.parse(anonymous.errors).code, 'unauthenticated');
  }
});

test('Connect - a success is the message alone, on the same store as REST and with the headers of gRPC', async (t) => {
  const { rest } = t.context;
  const answer = await call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  const made = Category.decode(isSuccess(t, answer));
  const read = await rest.get(`/categories/${made.id}`);
  t.deepEqual(read.body, { id: Number(made.id), name: 'Cats' });
  t.is(answer.headers.get('etag'), read.headers.get('etag'));
  const again = await call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  t.deepEqual(Category.decode(isSuccess(t, again)), made);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  const without = await call(t.context, Categories.listCategories.path, list, { 'connect-protocol-version': '' });
  t.true(ListCategoriesResponse.decode(isSuccess(t, without)).categories.some(({ id }) => id === made.id));
  const deletion = DeleteCategoryRequest.encode({ categoryId: made.id }).finish();
  t.is(isSuccess(t, await call(t.context, Categories.deleteCategory.path, deletion)).length, 0);
});

test('Connect - a page of the longest texts comes whole', async (t) => {
  const { rest } = t.context;
  const description = '猫'.repeat(2_000);
  for (let i = 0; i < 20; i += 1) await rest.post('/categories', { name: 'Long', description });
  const request = ListCategoriesRequest.encode({ limit: 100, pageToken: '' }).finish();
  const { categories } = ListCategoriesResponse.decode(
    isSuccess(t, await call(t.context, Categories.listCategories.path, request)),
  );
  t.is(categories.filter((category) => category.description === description).length, 20);
});

test('Connect - a 400 has the fields that broke a rule, a 404 and a 409 their reason', async (t) => {
  const none = CreateCategoryRequest.encode({ category: { name: ' ' } }).finish();
  const invalid = await call(t.context, Categories.createCategory.path, none);
  const { message, details } = isConnectError(t, invalid, 400, 'invalid_argument', 'INVALID_ARGUMENT');
  t.is(message, 'name: must be 1 to 200 characters after trimming');
  const { fieldViolations } = BadRequest.decode(details.get('google.rpc.BadRequest') ?? Buffer.of());
  t.like(fieldViolations, [{ field: 'category.name', description: 'must be 1 to 200 characters after trimming' }]);

  const broken = await call(t.context, Categories.createCategory.path, Buffer.from([0xff]));
  isConnectError(t, broken, 400, 'invalid_argument', 'MALFORMED_BODY');

  const unknown = GetCategoryRequest.encode({ categoryId: 999_999n }).finish();
  const missing = await call(t.context, Categories.getCategory.path, unknown);
  t.is(isConnectError(t, missing, 404, 'not_found', 'CATEGORY_NOT_FOUND').message, 'category 999999 does not exist');

  const categoryId = await t.context.rest.category();
  await t.context.rest.pet({ categoryId });
  const inUse = DeleteCategoryRequest.encode({ categoryId: BigInt(categoryId) }).finish();
  const conflict = await call(t.context, Categories.deleteCategory.path, inUse);
  isConnectError(t, conflict, 400, 'failed_precondition', 'CATEGORY_IN_USE');
});

test('Connect - a caller without a valid key is a 401 with its reason, before anything else is said', async (t) => {
  const keys = { API_KEY_MISSING: '', API_KEY_INVALID: `Bearer ${generateKey()}` };
  const unknown = '/petstore.v1.PetService/Nope';
  for (const [reason, authorization] of Object.entries(keys)) {
    for (const path of [Categories.createCategory.path, Pets.listPets.path, unknown]) {
      for (const type of ['application/proto', 'application/connect+proto', 'application/json']) {
        for (const message of [cats, Buffer.of()]) {
          const answer = await call(t.context, path, message, { authorization, 'content-type': type });
          isConnectError(t, answer, 401, 'unauthenticated', reason);
          t.is(answer.headers.get('www-authenticate'), 'Bearer');
        }
      }
    }
  }
});

test('Connect - past the limit is a 429 with Retry-After, whether Envoy knows the key or not', async (t) => {
  await withinOneDay(20_000);
  const operator = await connectOperator(t.context);
  const limited = { ...t.context, key: await operator.keyOf({ perMinute: 1_000, perDay: 2 }) };
  operator.close();
  isSuccess(t, await call(limited, Categories.listCategories.path, list));
  isSuccess(t, await call(limited, Categories.listCategories.path, list));
  for (const message of [list, cats, Buffer.of()]) {
    const answer = await call(limited, Categories.listCategories.path, message);
    const { details } = isConnectError(t, answer, 429, 'resource_exhausted', 'RATE_LIMITED');
    const { retryDelay } = RetryInfo.decode(details.get('google.rpc.RetryInfo') ?? Buffer.of());
    t.is(answer.headers.get('retry-after'), String(retryDelay?.seconds));
    t.deepEqual([answer.headers.get('x-ratelimit-limit'), answer.headers.get('x-ratelimit-remaining')], ['2', '0']);
  }
});

test('Connect - a deadline that has passed is a 504', async (t) => {
  const answer = await call(t.context, Pets.listPets.path, Buffer.of(), { 'connect-timeout-ms': '0' });
  isConnectError(t, answer, 504, 'deadline_exceeded', 'DEADLINE_EXCEEDED');
});

test('Connect - JSON, streams, compression and other versions are UNIMPLEMENTED, with what to send', async (t) => {
  for (const changes of [
    { 'content-type': 'application/json' },
    { 'content-type': 'application/connect+proto' },
    { 'content-type': 'application/connect+json' },
    { 'content-encoding': 'gzip' },
    { 'connect-protocol-version': '2' },
  ]) {
    const answer = await call(t.context, Pets.listPets.path, Buffer.from('{}'), changes);
    const { message } = isConnectError(t, answer, 501, 'unimplemented', 'UNSUPPORTED_CONTENT_TYPE');
    t.true(message.includes('send "Content-Type: application/proto"'));
  }
});

test('Connect - only methods of petstore.v1 are reached', async (t) => {
  for (const path of ['/petstore.v1.PetService/Nope', '/petstore.v1.Nope/ListPets', `${Pets.listPets.path}?x=1`]) {
    isConnectError(t, await call(t.context, path, Buffer.of()), 501, 'unimplemented', 'ROUTE_NOT_FOUND');
  }
  for (const path of [
    '/petstore.admin.v1.AdminService/ListAccounts',
    '/petstore.edge.v1.EdgeService/Judge',
    '/petstore.web.v1.WebService/CheckHealth',
    '/grpc.health.v1.Health/Check',
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    '/pets',
  ]) {
    const { status, bytes } = await call(t.context, path, Buffer.of());
    t.true(status === 404 || (path === '/pets' && status === 400), `${path} ${status}`); // which is UNIMPLEMENTED
    t.is(JSON.parse(bytes.toString()).status, status, "in REST's shape");
  }
});

test('Connect - a call by GET is a 404, which the protocol takes for UNIMPLEMENTED', async (t) => {
  const path = `${Pets.listPets.path}?connect=v1&encoding=proto&message=`;
  isError(t, await t.context.rest.get(path), 404, 'ROUTE_NOT_FOUND');
  isError(t, await t.context.rest.withKey(undefined).get(path), 401, 'API_KEY_MISSING');
});

test('Connect - its headers and its parameter change nothing for REST', async (t) => {
  const { rest } = t.context;
  const headers = { 'connect-protocol-version': '1', 'connect-timeout-ms': '0' };
  const made = await rest.send('POST', '/categories', { json: { name: 'Dogs' }, headers });
  t.is(made.status, 201);
  t.is((await rest.send('GET', `/categories/${made.body.id}`, { headers })).status, 200);
  isError(t, await rest.send('POST', '/categories', { json: {}, headers }), 400, 'INVALID_ARGUMENT');
  isError(t, await rest.get('/categories?connect=v1'), 400, 'INVALID_ARGUMENT', /connect/);
  const proto = { ...headers, 'content-type': 'application/proto' };
  isError(t, await rest.send('POST', '/categories', { raw: '{}', headers: proto }), 400, 'UNSUPPORTED_CONTENT_TYPE');
  const spoofed = { 'x-petstore-connect': '1' };
  isError(t, await rest.send('GET', '/categories/999999', { headers: spoofed }), 404, 'CATEGORY_NOT_FOUND');
  isError(t, await rest.withKey(undefined).send('POST', '/categories', { json: {}, headers }), 401, 'API_KEY_MISSING');
});

/** A message of one unknown field, so long in all. */
function ofLength(bytes: number): Buffer {
  const content = bytes - 5;
  const length = [(content & 0x7f) | 0x80, ((content >> 7) & 0x7f) | 0x80, content >> 14];
  return Buffer.concat([Buffer.from([0x9a, 0x06, ...length]), Buffer.alloc(content)]);
}

/** Sends the request as it is, over HTTP/1.1, and reads an answer that is an error. */
async function send({ publicAddress }: TestStack, lines: readonly string[], body: Buffer): Promise<ConnectAnswer> {
  const socket = openSocket(targetOf(publicAddress, '127.0.0.1'));
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk;
  });
  const head = [
    `POST ${Categories.createCategory.path} HTTP/1.1`,
    'Host: petstore',
    'Content-Type: application/proto',
    'Connect-Protocol-Version: 1',
    ...lines,
  ];
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  await until(() => received.endsWith('}') || socket.closed, 'the answer', 60_000);
  socket.destroy();
  const [top = '', text = ''] = received.split('\r\n\r\n', 2);
  const [statusLine = '', ...fields] = top.split('\r\n');
  const headers = new Headers(fields.map((field) => field.split(': ', 2) as [string, string]));
  return { status: Number(statusLine.split(' ')[1]), headers, bytes: Buffer.from(text) };
}

test('Connect - a message of 64 KiB is judged by what it says, a longer one is BODY_TOO_LARGE', async (t) => {
  const { key } = t.context;
  const { path } = Categories.createCategory;
  // Each of Envoy's threads is to know the key (test/hostile/http-errors.test.ts says why).
  for (let i = 0; i < 20; i += 1) {
    const headers = { connection: 'close' };
    isSuccess(t, await call(t.context, Categories.listCategories.path, list, headers));
  }
  isConnectError(t, await call(t.context, path, ofLength(65_536)), 400, 'invalid_argument', 'INVALID_ARGUMENT');
  const authorization = `Authorization: Bearer ${key}`;
  const chunked = Buffer.concat([Buffer.from('10001\r\n'), ofLength(65_537), Buffer.from('\r\n0\r\n\r\n')]);
  for (const [length, body] of [
    ['Content-Length: 65537', ofLength(65_537)],
    ['Content-Length: 65537', Buffer.of()],
    ['Content-Length: 1099511627776', Buffer.of()],
    ['Transfer-Encoding: chunked', chunked],
  ] as const) {
    const answer = await send(t.context, [authorization, length], body);
    isConnectError(t, answer, 429, 'resource_exhausted', 'BODY_TOO_LARGE');
  }
});

test('Connect - the body of an anonymous caller is refused by the headers of its request, and never waited for', async (t) => {
  const { publicAddress } = t.context;
  for (const authorization of [[], [`Authorization: Bearer ${generateKey()}`]]) {
    for (const length of ['Content-Length: 65536', 'Content-Length: 1048576', 'Transfer-Encoding: chunked']) {
      const startedAtMs = performance.now();
      const answer = await send(t.context, [...authorization, length], Buffer.of());
      t.is(answer.status, 401);
      t.is(JSON.parse(answer.bytes.toString()).code, 'unauthenticated');
      t.true(performance.now() - startedAtMs < 20_000, 'long before the 408');
    }
  }
  const headers = { ':path': Categories.createCategory.path, 'content-type': 'application/proto' };
  t.is((await halfRequest(targetOf(publicAddress, '127.0.0.1'), headers, 'x')).status, 401);
});

test('Connect - a message that has not come whole after 30 s is REQUEST_TIMEOUT', async (t) => {
  const startedAtMs = performance.now();
  const lines = [`Authorization: Bearer ${t.context.key}`, 'Content-Length: 100'];
  const answer = await send(t.context, lines, Buffer.of(0x0a));
  isConnectError(t, answer, 504, 'deadline_exceeded', 'REQUEST_TIMEOUT');
  const tookS = (performance.now() - startedAtMs) / 1_000;
  t.true(tookS > 25 && tookS < 50, `it took ${tookS} s`);
});
