/** The Connect protocol (https://connectrpc.com/docs/protocol) on the public port. */
import { execFile } from 'node:child_process';
import anyTest, { type TestFn } from 'ava';
import { BadRequest, RetryInfo } from '../../../gen/google/rpc/error_details.ts';
import {
  CategoryServiceService as Categories,
  Category,
  CreateCategoryRequest,
  GetCategoryRequest,
  ListCategoriesRequest,
  ListCategoriesResponse,
} from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { ROOT } from '../../cli/command.ts';
import { call, isConnectError, isSuccess, sendRaw } from '../../support/connect-client.ts';
import { isError } from '../../support/contract.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const cats = CreateCategoryRequest.encode({ category: { name: 'Cats' } }).finish();
const list = ListCategoriesRequest.encode({ pageToken: '' }).finish();

/** Runs `buf curl` as docs/clients.md shows it. */
function bufCurl({ publicAddress }: TestStack, method: string, data: string, ...options: readonly string[]) {
  const url = `http://${publicAddress}/petstore.v1.${method}`;
  const args = ['curl', '--protocol', 'connect', '--schema', 'proto', ...options, '--data', data, url];
  return new Promise<{ output: string; errors: string }>((resolve) => {
    execFile(`${ROOT}node_modules/.bin/buf`, args, { cwd: ROOT }, (_, output, errors) => resolve({ output, errors }));
  });
}

test('buf curl - calls over Connect, with HTTP/1.1 and HTTP/2, and shows errors with their details', async (t) => {
  const key = ['--header', `Authorization: Bearer ${t.context.key}`];
  const create = 'CategoryService/CreateCategory';
  for (const http of [[], ['--http2-prior-knowledge']]) {
    const made = await bufCurl(t.context, create, '{"category":{"name":"Cats"}}', ...http, ...key);
    t.is(JSON.parse(made.output).name, 'Cats', made.errors);
    const { errors } = await bufCurl(t.context, create, '{}', ...http, ...key);
    const { code, message, details } = JSON.parse(errors);
    t.deepEqual([code, message], ['invalid_argument', 'name: value is required']);
    t.like(details, [{ type: 'google.rpc.ErrorInfo' }, { type: 'google.rpc.BadRequest' }]);
    const anonymous = await bufCurl(t.context, create, '{}', ...http);
    t.is(JSON.parse(anonymous.errors).code, 'unauthenticated');
  }
});

test('Connect - a response is the encoded message with the headers of gRPC, from the same store as REST', async (t) => {
  const { rest } = t.context;
  const create = () => call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  const response = await create();
  const made = Category.decode(isSuccess(t, response));
  const read = await rest.get(`/categories/${made.id}`);
  t.deepEqual(read.body, { id: Number(made.id), name: 'Cats' });
  t.is(response.headers.get('etag'), read.headers.get('etag'));
  const again = await create();
  t.deepEqual(Category.decode(isSuccess(t, again)), made);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  const without = await call(t.context, Categories.listCategories.path, list, { 'connect-protocol-version': '' });
  t.true(ListCategoriesResponse.decode(isSuccess(t, without)).categories.some(({ id }) => id === made.id));
  const deletion = GetCategoryRequest.encode({ categoryId: made.id }).finish(); // as DeleteCategoryRequest
  t.is(isSuccess(t, await call(t.context, Categories.deleteCategory.path, deletion)).length, 0);
});

test('Connect - a page of the longest texts is complete', async (t) => {
  const { rest } = t.context;
  const description = '猫'.repeat(2_000);
  for (let i = 0; i < 20; i += 1) await rest.post('/categories', { name: 'Long', description });
  const request = ListCategoriesRequest.encode({ limit: 100, pageToken: '' }).finish();
  const { categories } = ListCategoriesResponse.decode(
    isSuccess(t, await call(t.context, Categories.listCategories.path, request)),
  );
  t.is(categories.filter((category) => category.description === description).length, 20);
});

test('Connect - a 400 has the fields with violations, a 404 and a 409 their reason', async (t) => {
  const none = CreateCategoryRequest.encode({ category: { name: ' ' } }).finish();
  const invalid = await call(t.context, Categories.createCategory.path, none);
  const { message, details } = isConnectError(t, invalid, 400, 'invalid_argument', 'INVALID_ARGUMENT');
  t.is(message, 'name: must be 1 to 200 characters after trimming');
  const { fieldViolations } = BadRequest.decode(details.get('google.rpc.BadRequest') ?? Buffer.of());
  t.like(fieldViolations, [{ field: 'category.name', description: 'must be 1 to 200 characters after trimming' }]);

  const categoryId = BigInt(await t.context.rest.category());
  await t.context.rest.pet({ categoryId: Number(categoryId) });
  const of = (id: bigint) => GetCategoryRequest.encode({ categoryId: id }).finish(); // as DeleteCategoryRequest
  for (const [{ path }, request, status, code, reason] of [
    [Categories.createCategory, Buffer.of(0xff), 400, 'invalid_argument', 'MALFORMED_BODY'],
    [Categories.getCategory, of(999_999n), 404, 'not_found', 'CATEGORY_NOT_FOUND'],
    [Categories.deleteCategory, of(categoryId), 400, 'failed_precondition', 'CATEGORY_IN_USE'],
  ] as const) {
    isConnectError(t, await call(t.context, path, request), status, code, reason);
  }
});

test('Connect - a call without a valid key is a 401 with its reason, before every other error', async (t) => {
  const keys = { API_KEY_MISSING: '', API_KEY_INVALID: `Bearer ${generateKey()}` };
  const unknown = '/petstore.v1.PetService/Nope';
  for (const [reason, authorization] of Object.entries(keys)) {
    for (const path of [Categories.createCategory.path, Pets.listPets.path, unknown]) {
      for (const type of ['application/proto', 'application/connect+proto', 'application/json']) {
        for (const message of [cats, Buffer.of()]) {
          const response = await call(t.context, path, message, { authorization, 'content-type': type });
          isConnectError(t, response, 401, 'unauthenticated', reason);
          t.is(response.headers.get('www-authenticate'), 'Bearer');
        }
      }
    }
  }
});

test('Connect - a call beyond the limit is a 429 with Retry-After, whether Envoy knows the key or not', async (t) => {
  await withinOneDay(20_000);
  const operator = await connectOperator(t.context);
  const limited = { ...t.context, key: await operator.keyOf({ perMinute: 1_000, perDay: 2 }) };
  operator.close();
  isSuccess(t, await call(limited, Categories.listCategories.path, list));
  isSuccess(t, await call(limited, Categories.listCategories.path, list));
  for (const message of [list, cats, Buffer.of()]) {
    const response = await call(limited, Categories.listCategories.path, message);
    const { details } = isConnectError(t, response, 429, 'resource_exhausted', 'RATE_LIMITED');
    const { retryDelay } = RetryInfo.decode(details.get('google.rpc.RetryInfo') ?? Buffer.of());
    t.is(response.headers.get('retry-after'), String(retryDelay?.seconds));
    t.deepEqual([response.headers.get('x-ratelimit-limit'), response.headers.get('x-ratelimit-remaining')], ['2', '0']);
  }
});

test('Connect - a deadline that has passed is a 504', async (t) => {
  const response = await call(t.context, Pets.listPets.path, Buffer.of(), { 'connect-timeout-ms': '0' });
  isConnectError(t, response, 504, 'deadline_exceeded', 'DEADLINE_EXCEEDED');
});

test('Connect - JSON, streams, compression and other versions are UNIMPLEMENTED, with what to send', async (t) => {
  for (const changes of [
    { 'content-type': 'application/json' },
    { 'content-type': 'application/connect+proto' },
    { 'content-type': 'application/connect+json' },
    { 'content-encoding': 'gzip' },
    { 'connect-protocol-version': '2' },
  ]) {
    const response = await call(t.context, Pets.listPets.path, Buffer.from('{}'), changes);
    const { message } = isConnectError(t, response, 501, 'unimplemented', 'UNSUPPORTED_CONTENT_TYPE');
    t.true(message.includes('send "Content-Type: application/proto"'));
  }
});

test('Connect - only methods of petstore.v1 can be called', async (t) => {
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
    t.true(status === 404 || (path === '/pets' && status === 400), `${path} ${status}`); // a 404 means UNIMPLEMENTED
    t.is(JSON.parse(bytes.toString()).status, status, "in REST's shape");
  }
});

test('Connect - its query, headers and content type have no effect on REST', async (t) => {
  const { rest } = t.context;
  const byGet = `${Pets.listPets.path}?connect=v1&encoding=proto&message=`;
  isError(t, await rest.get(byGet), 404, 'ROUTE_NOT_FOUND'); // which means UNIMPLEMENTED in the protocol
  isError(t, await rest.withKey(undefined).get(byGet), 401, 'API_KEY_MISSING');
  const headers = { 'connect-protocol-version': '1', 'connect-timeout-ms': '0', 'x-petstore-connect': '1' };
  t.is((await rest.send('POST', '/categories', { json: { name: 'Dogs' }, headers })).status, 201);
  isError(t, await rest.get('/categories/999999', { headers }), 404, 'CATEGORY_NOT_FOUND');
  isError(t, await rest.get('/categories?connect=v1'), 400, 'INVALID_ARGUMENT', /connect/);
  const proto = { ...headers, 'content-type': 'application/proto' };
  isError(t, await rest.send('POST', '/categories', { raw: '{}', headers: proto }), 400, 'UNSUPPORTED_CONTENT_TYPE');
});

/** A message with one unknown field, of this length. */
function ofLength(bytes: number): Buffer {
  const content = bytes - 5;
  const length = [(content & 0x7f) | 0x80, ((content >> 7) & 0x7f) | 0x80, content >> 14];
  return Buffer.concat([Buffer.from([0x9a, 0x06, ...length]), Buffer.alloc(content)]);
}

test('Connect - a message of 64 KiB is validated, a longer one is BODY_TOO_LARGE', async (t) => {
  const { path } = Categories.createCategory;
  // So that each of Envoy's threads knows the key (test/hostile/http-errors.test.ts says why).
  for (let i = 0; i < 20; i += 1) {
    const headers = { connection: 'close' };
    isSuccess(t, await call(t.context, Categories.listCategories.path, list, headers));
  }
  isConnectError(t, await call(t.context, path, ofLength(65_536)), 400, 'invalid_argument', 'INVALID_ARGUMENT');
  const chunked = Buffer.concat([Buffer.from('10001\r\n'), ofLength(65_537), Buffer.from('\r\n0\r\n\r\n')]);
  for (const [length, body] of [
    ['Content-Length: 65537', ofLength(65_537)],
    ['Content-Length: 1099511627776', Buffer.of()],
    ['Transfer-Encoding: chunked', chunked],
  ] as const) {
    const response = await sendRaw(t.context, [`Authorization: Bearer ${t.context.key}`, length], body);
    isConnectError(t, response, 429, 'resource_exhausted', 'BODY_TOO_LARGE');
  }
});

test('Connect - an anonymous caller is refused by the headers, before the body arrives', async (t) => {
  const startMs = performance.now();
  for (const authorization of [[], [`Authorization: Bearer ${generateKey()}`]]) {
    for (const length of ['Content-Length: 65536', 'Content-Length: 1048576', 'Transfer-Encoding: chunked']) {
      const { status, bytes } = await sendRaw(t.context, [...authorization, length], Buffer.of());
      t.deepEqual([status, JSON.parse(bytes.toString()).code], [401, 'unauthenticated']);
    }
  }
  t.true(performance.now() - startMs < 20_000, 'long before the 408');
});
