/** The Connect protocol (https://connectrpc.com/docs/protocol) on the public port. */
import { execFile } from 'node:child_process';
import anyTest, { type TestFn } from 'ava';
import { BadRequest, RetryInfo } from '../../../gen/google/rpc/error_details.ts';
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
import { generateKey } from '../../../src/access/keys/format.ts';
import { ROOT } from '../../cli/command.ts';
import { call, isConnectError, isSuccess } from '../../support/connect-client.ts';
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
  return new Promise<{ failed: boolean; output: string; errors: string }>((resolve) => {
    execFile(`${ROOT}node_modules/.bin/buf`, args, { cwd: ROOT }, (error, output, errors) => {
      resolve({ failed: error !== null, output, errors });
    });
  });
}

test('buf curl - calls over Connect, with HTTP/1.1 and HTTP/2, and shows errors with their details', async (t) => {
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

test('Connect - a response is the encoded message with the headers of gRPC, from the same store as REST', async (t) => {
  const { rest } = t.context;
  const response = await call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  const made = Category.decode(isSuccess(t, response));
  const read = await rest.get(`/categories/${made.id}`);
  t.deepEqual(read.body, { id: Number(made.id), name: 'Cats' });
  t.is(response.headers.get('etag'), read.headers.get('etag'));
  const again = await call(t.context, Categories.createCategory.path, cats, { 'idempotency-key': 'connect-1' });
  t.deepEqual(Category.decode(isSuccess(t, again)), made);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  const without = await call(t.context, Categories.listCategories.path, list, { 'connect-protocol-version': '' });
  t.true(ListCategoriesResponse.decode(isSuccess(t, without)).categories.some(({ id }) => id === made.id));
  const deletion = DeleteCategoryRequest.encode({ categoryId: made.id }).finish();
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

test('Connect - a call by GET is a 404, which means UNIMPLEMENTED in the protocol', async (t) => {
  const path = `${Pets.listPets.path}?connect=v1&encoding=proto&message=`;
  isError(t, await t.context.rest.get(path), 404, 'ROUTE_NOT_FOUND');
  isError(t, await t.context.rest.withKey(undefined).get(path), 401, 'API_KEY_MISSING');
});

test('Connect - its headers and its query parameter have no effect on REST', async (t) => {
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
