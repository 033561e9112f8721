/**
 * The whole service in a minute: Envoy, a server and an empty SQLite file, called over REST and gRPC. Read this file
 * first. It shows what callers see, and how tests are written: `stackTest` starts a service for the file, `rest` and
 * `grpc` call it with the key of the demo account, and each title says what holds.
 */
import { CategoryServiceService as Categories } from '../gen/petstore/v1/categories.ts';
import { stackTest } from './support/service/shared-stack.ts';
import { withinOneMinute } from './support/until.ts';

/** The plan of the demo account allows as many requests per minute as the tests here send before the last one. */
const test = stackTest({ BUSINESS_PER_MINUTE: '5' });

// Serial, because each goes on where the one before has ended.
test.serial('POST /categories - creates one, and says where it is and how many requests are left', async (t) => {
  await withinOneMinute(20_000);
  const { status, headers, body } = await t.context.rest.post('/categories', { name: 'Cats' });
  t.deepEqual([status, body], [201, { id: 1, name: 'Cats' }]);
  t.is(headers.get('location'), '/categories/1');
  t.is(headers.get('x-ratelimit-limit'), '5');
  t.is(headers.get('x-ratelimit-remaining'), '4');
});

test.serial('GET /categories/{categoryId} - reads it; with its entity tag it is 304 and empty', async (t) => {
  const { rest } = t.context;
  const { status, headers, body } = await rest.get('/categories/1');
  t.deepEqual([status, body], [200, { id: 1, name: 'Cats' }]);
  const same = await rest.get('/categories/1', { headers: { 'if-none-match': headers.get('etag') ?? '' } });
  t.deepEqual([same.status, same.text], [304, '']);
});

test.serial('gRPC - the same category, on the same port with the same key', async (t) => {
  const category = await t.context.grpc.call(Categories.getCategory, { categoryId: 1n });
  t.deepEqual(category, { id: 1n, name: 'Cats', description: undefined });
});

test.serial('Errors - have a code, a message for people and the status, 404 here', async (t) => {
  const { status, body } = await t.context.rest.get('/categories/2');
  t.is(status, 404);
  t.deepEqual(body, { code: 'CATEGORY_NOT_FOUND', message: 'category 2 does not exist', status: 404 });
});

test.serial('Limits - one request more is a 429, and over gRPC RESOURCE_EXHAUSTED with the same code', async (t) => {
  const { rest, grpc } = t.context;
  const { status, headers, body } = await rest.get('/categories/1');
  t.is(status, 429);
  const seconds = headers.get('retry-after');
  const message = `the limit of 5 per minute is used up: try again in ${seconds} s`;
  t.deepEqual(body, { code: 'RATE_LIMITED', message, status: 429 });
  const { code, reason } = await grpc.failure(Categories.getCategory, { categoryId: 1n });
  t.deepEqual([code, reason], [8, 'RATE_LIMITED']);
});

test.serial('Keys - without one it is a 401, which says what to send', async (t) => {
  const { status, body } = await t.context.rest.withKey(undefined).get('/categories');
  t.is(status, 401);
  const message = 'an API key is needed: send "Authorization: Bearer <API_KEY>"';
  t.deepEqual(body, { code: 'API_KEY_MISSING', message, status: 401 });
});
