import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { extname } from 'node:path';
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

const TYPES = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
const OWN = ['page.js', 'plugin.js', 'chapters.js', 'feed.js', 'page.css', 'operations.css', 'favicon.svg'];
const FOREIGN = ['swagger-ui-bundle.js', 'swagger-ui.css'];
/** Paths, the files that they are, and for how many seconds they may be cached. */
const FILES: readonly (readonly [string, string, number])[] = [
  ['/docs', 'docs-page/index.html', 300],
  ...OWN.map((name) => [`/docs/${name}`, `docs-page/${name}`, 300] as const),
  ...FOREIGN.map((name) => [`/docs/${name}`, `node_modules/swagger-ui-dist/${name}`, 86_400] as const),
];

/** The browser may load from this server only. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ');
const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' } };

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

for (const [path, file, seconds] of FILES) {
  test(`GET, HEAD ${path} - return the file on disk, without a key, compressed for those who accept it`, async (t) => {
    const { rest } = t.context;
    const anonymous = rest.withKey(undefined);
    const onDisk = readFileSync(file);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await anonymous.send(method, path);
      t.is(status, 200);
      t.is(text, method === 'GET' ? onDisk.toString() : '');
      t.is(headers.get('content-type'), TYPES[extname(file).slice(1) as keyof typeof TYPES]);
      if (method === 'HEAD') t.is(headers.get('content-length'), String(onDisk.length));
      t.is(headers.get('cache-control'), `public, max-age=${seconds}`);
      t.is(headers.get('content-security-policy'), POLICY);
      t.is(headers.get('x-content-type-options'), 'nosniff');
      t.is(headers.get('referrer-policy'), 'no-referrer');
    }
    const compressed = await fetchRaw(`${rest.url}${path}`, { 'accept-encoding': 'gzip, deflate, br' });
    t.is(compressed.headers['content-encoding'], 'gzip');
    t.regex(compressed.headers.vary ?? '', /accept-encoding/i);
    t.true(gunzipSync(compressed.body).equals(onDisk)); // deepEqual would take seconds for a megabyte
  });
}

test('GET /docs - is not compressed for a client that does not accept gzip', async (t) => {
  for (const accepted of [undefined, 'br', 'gzip;q=0', 'gzip; q=0.000']) {
    const given = accepted === undefined ? {} : { 'accept-encoding': accepted };
    const { headers, body } = await fetchRaw(`${t.context.rest.url}/docs`, given);
    t.is(headers['content-encoding'], undefined, accepted);
    t.is(body.toString(), readFileSync('docs-page/index.html', 'utf8'));
  }
});

test('POST /docs - is refused with 405 and Allow, like any unsupported method', async (t) => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers, body } = await t.context.rest.send(method, '/docs/page.js');
    t.deepEqual([status, headers.get('allow'), body.code], [405, 'GET, HEAD', 'METHOD_NOT_ALLOWED']);
  }
});

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
