import { readFileSync } from 'node:fs';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const FILES = [
  ['/openapi.json', 'application/json', 'gen/openapi/openapi.json'],
  ['/openapi.yaml', 'application/yaml', 'gen/openapi/openapi.yaml'],
] as const;

for (const [path, type, file] of FILES) {
  test(`GET ${path} - is the generated description, without a key`, async (t) => {
    const { status, headers, text } = await t.context.rest.withKey(undefined).get(path);
    t.is(status, 200);
    t.is(headers.get('content-type'), type);
    t.is(headers.get('cache-control'), 'public, max-age=300');
    t.is(headers.get('access-control-allow-origin'), '*');
    t.is(text, readFileSync(file, 'utf8'));
  });

  test(`HEAD ${path} - has the same headers without a body`, async (t) => {
    const { status, headers, text } = await t.context.rest.withKey(undefined).send('HEAD', path);
    t.is(status, 200);
    t.is(headers.get('content-type'), type);
    t.is(headers.get('content-length'), String(readFileSync(file).length));
    t.is(text, '');
  });

  test(`POST ${path} - is a 405 with Allow`, async (t) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await t.context.rest.send(method, path);
      t.is(status, 405);
      t.is(headers.get('allow'), 'GET, HEAD');
      t.is(body.code, 'METHOD_NOT_ALLOWED');
    }
  });

  test(`POST ${path} - without a key is a 401: only reading needs no key`, async (t) => {
    t.is((await t.context.rest.withKey(undefined).post(path)).status, 401);
  });
}

// Serial, because the requests of the other tests in this file count too.
test.serial('GET /openapi.json - does not count against the limits', async (t) => {
  const { rest } = t.context;
  const before = Number((await rest.get('/pets')).headers.get('x-ratelimit-remaining'));
  await rest.get('/openapi.json');
  t.is(Number((await rest.get('/pets')).headers.get('x-ratelimit-remaining')), before - 1);
});

test('GET /openapi.json/ - is a 404', async (t) => {
  t.is((await t.context.rest.get('/openapi.json/')).body.code, 'ROUTE_NOT_FOUND');
});
