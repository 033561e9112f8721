import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const FILES = {
  '/docs': { type: 'text/html; charset=utf-8', file: 'docs-page/index.html', seconds: 300 },
  '/docs/page.js': { type: 'text/javascript; charset=utf-8', file: 'docs-page/page.js', seconds: 300 },
  '/docs/plugin.js': { type: 'text/javascript; charset=utf-8', file: 'docs-page/plugin.js', seconds: 300 },
  '/docs/chapters.js': { type: 'text/javascript; charset=utf-8', file: 'docs-page/chapters.js', seconds: 300 },
  '/docs/feed.js': { type: 'text/javascript; charset=utf-8', file: 'docs-page/feed.js', seconds: 300 },
  '/docs/page.css': { type: 'text/css; charset=utf-8', file: 'docs-page/page.css', seconds: 300 },
  '/docs/operations.css': { type: 'text/css; charset=utf-8', file: 'docs-page/operations.css', seconds: 300 },
  '/docs/favicon.svg': { type: 'image/svg+xml', file: 'docs-page/favicon.svg', seconds: 300 },
  '/docs/swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    file: 'node_modules/swagger-ui-dist/swagger-ui-bundle.js',
    seconds: 86_400,
  },
  '/docs/swagger-ui.css': {
    type: 'text/css; charset=utf-8',
    file: 'node_modules/swagger-ui-dist/swagger-ui.css',
    seconds: 86_400,
  },
} as const;

test('GET /petstore.binpb - is the descriptor set of the public services alone, without a key', async (t) => {
  const { headers, body } = await fetchRaw(`${t.context.rest.url}/petstore.binpb`, {});
  t.is(headers['content-type'], 'application/octet-stream');
  t.is(headers['access-control-allow-origin'], '*');
  const descriptors = fromBinary(FileDescriptorSetSchema, body);
  t.notThrows(() => createFileRegistry(descriptors), 'with all that they import');
  const services = descriptors.file.filter(({ service }) => service.length > 0);
  t.true(services.length >= 4 && services.every(({ name }) => name.startsWith('petstore/v1/')));
  t.true(body.length < 128 * 1_024);
});

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' } };

for (const [path, { type, file, seconds }] of Object.entries(FILES)) {
  test(`GET ${path} - returns the file on disk, without a key`, async (t) => {
    const { status, headers, text } = await t.context.rest.withKey(undefined).get(path);
    t.is(status, 200);
    t.is(headers.get('content-type'), type);
    t.is(headers.get('cache-control'), `public, max-age=${seconds}`);
    t.is(text, readFileSync(file, 'utf8'));
  });

  test(`GET ${path} - lets the browser load from this server only`, async (t) => {
    const { headers } = await t.context.rest.get(path);
    const policy = headers.get('content-security-policy')?.split('; ');
    t.deepEqual(policy, [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    t.is(headers.get('x-content-type-options'), 'nosniff');
    t.is(headers.get('referrer-policy'), 'no-referrer');
  });

  test(`HEAD ${path} - returns the headers of GET without a body`, async (t) => {
    const { status, headers, text } = await t.context.rest.withKey(undefined).send('HEAD', path);
    t.is(status, 200);
    t.is(headers.get('content-type'), type);
    t.is(headers.get('content-length'), String(readFileSync(file).length));
    t.is(text, '');
  });

  test(`GET ${path} - is compressed when the client accepts gzip`, async (t) => {
    const url = `${t.context.rest.url}${path}`;
    const compressed = await fetchRaw(url, { 'accept-encoding': 'gzip, deflate, br' });
    t.is(compressed.headers['content-encoding'], 'gzip');
    t.regex(compressed.headers.vary ?? '', /accept-encoding/i);
    const onDisk = readFileSync(file);
    t.true(gunzipSync(compressed.body).equals(onDisk)); // deepEqual would take seconds for a megabyte
    for (const accepted of ['', 'br', 'gzip;q=0', 'gzip; q=0.000']) {
      const plain = await fetchRaw(url, accepted === '' ? {} : { 'accept-encoding': accepted });
      t.is(plain.headers['content-encoding'], undefined, accepted);
      t.true(plain.body.equals(onDisk));
    }
  });

  test(`POST ${path} - is refused with 405 and Allow, like any unsupported method`, async (t) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await t.context.rest.send(method, path);
      t.is(status, 405);
      t.is(headers.get('allow'), 'GET, HEAD');
      t.is(body.code, 'METHOD_NOT_ALLOWED');
    }
  });
}

test('GET / - redirects a browser to the docs page, on any host', async (t) => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await t.context.rest.withKey(undefined).send(method, '/', BROWSER);
    t.is(status, 302);
    t.is(headers.get('location'), '/docs');
    t.regex(headers.get('vary') ?? '', /\baccept\b/);
  }
});

test('GET / - is an error for other clients: 401 without a key, 404 with one', async (t) => {
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const anonymous = await t.context.rest.withKey(undefined).get('/', { headers });
    t.is(anonymous.status, 401);
    t.is(anonymous.body.code, 'API_KEY_MISSING');
    const known = await t.context.rest.get('/', { headers });
    t.is(known.status, 404);
    t.is(known.body.code, 'ROUTE_NOT_FOUND');
  }
});

test('POST / - is an error for a browser too', async (t) => {
  t.is((await t.context.rest.send('POST', '/', BROWSER)).body.code, 'ROUTE_NOT_FOUND');
});

test('GET /docs/ - redirects to /docs', async (t) => {
  const { status, headers } = await t.context.rest.withKey(undefined).get('/docs/');
  t.is(status, 302);
  t.is(headers.get('location'), '/docs');
});

test('GET /docs/nothing - is ROUTE_NOT_FOUND, and no other file on disk is served', async (t) => {
  for (const path of ['/docs/nothing', '/docs/index.html', '/docs/../package.json', '/docs/%2e%2e/package.json']) {
    t.is((await t.context.rest.get(path)).body.code, 'ROUTE_NOT_FOUND');
  }
});

test('GET /pets - is not compressed: the size could reveal the content', async (t) => {
  const { headers } = await fetchRaw(`${t.context.rest.url}/pets`, {
    authorization: `Bearer ${t.context.key}`,
    'accept-encoding': 'gzip',
  });
  t.is(headers['content-encoding'], undefined);
});

/** Returns the response undecoded; fetch would decompress it. On a connection of its own, which is not closed yet. */
async function fetchRaw(url: string, headers: Readonly<Record<string, string>>) {
  const [response] = (await once(get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
  return { headers: response.headers, body: await buffer(response) };
}
