/** The description and the docs page as they are served; and the page "Getting started", followed word for word. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { extname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema, MethodOptionsSchema, type SourceCodeInfo_Location } from '@bufbuild/protobuf/wkt';
import { Client } from '@grpc/grpc-js';
import { CategoryServiceService } from '../../gen/petstore/v1/categories.ts';
import { API_PACKAGE } from '../../src/identity.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { buildPrograms, GRPCURL, noGo } from '../conformance/programs.ts';
import { insecure } from '../support/calls/grpc.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { readAll } from '../support/calls/rest-client.ts';
import { isError } from '../support/contract/errors.ts';
import { sh } from '../support/machine/find-program.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { temporaryFolder } from '../support/scope.ts';
import { grpcPage, ordersOnce } from '../support/service/example-programs.ts';
import { Program } from '../support/service/process.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { testUnless } from '../support/service/sharing.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { description, operations } from './docs-page.ts';

const test = stackTest();

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.md': 'text/markdown; charset=utf-8',
  '.proto': 'text/plain; charset=utf-8',
};

/** A page that may load from this server only. */
const PAGE = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'public, max-age=300',
};
const LIBRARY = { ...PAGE, 'cache-control': 'public, max-age=86400' };
const DESCRIPTION = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' };
const OWN = ['page.js', 'plugin.js', 'chapters.js', 'feed.js', 'page.css', 'operations.css'];

const FILES: readonly (readonly [path: string, file: string, headers: Readonly<Record<string, string>>])[] = [
  ...['/openapi.json', '/openapi.yaml'].map((path) => [path, `gen/openapi${path}`, DESCRIPTION] as const),
  ['/petstore.proto', 'gen/public.proto', DESCRIPTION],
  ['/docs.md', 'gen/docs.md', DESCRIPTION],
  ['/docs', 'docs-page/index.html', PAGE],
  ...OWN.map((name) => [`/docs/${name}`, `docs-page/${name}`, PAGE] as const),
  ['/docs/favicon.svg', 'src/shop/favicon.svg', PAGE],
  ...['swagger-ui-bundle.js', 'swagger-ui.css'].map(
    (name) => [`/docs/${name}`, `node_modules/swagger-ui-dist/${name}`, LIBRARY] as const,
  ),
];

const BROWSER = { headers: { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' } };

test('GET /petstore.binpb - is the descriptor set of the public services alone, without a key', async (t) => {
  const { headers, body } = await fetchRaw(`${t.context.rest.url}/petstore.binpb`, {});
  t.is(headers['content-type'], 'application/octet-stream');
  t.is(headers['access-control-allow-origin'], '*');
  const descriptors = fromBinary(FileDescriptorSetSchema, body);
  t.notThrows(() => createFileRegistry(descriptors), 'with all that they import');
  const services = descriptors.file.filter(({ service }) => service.length > 0);
  t.true(services.length >= 4 && services.every(({ name }) => name.startsWith('petstore/v1/')));
  const commented = services.filter(({ sourceCodeInfo }) => sourceCodeInfo?.location.some(isOfMethod));
  t.is(commented.length, services.length, 'with the comments of their methods, which generators write into code');
  t.true(body.length < 128 * 1_024);
});

/** FileDescriptorProto.service, ServiceDescriptorProto.method, by their field numbers and indexes. */
const isOfMethod = ({ path, leadingComments }: SourceCodeInfo_Location) =>
  leadingComments !== '' && path.length === 4 && path[0] === 6 && path[2] === 2;

test('GET /petstore.proto - is the same types and methods in one file, with REST, rules and errors', async (t) => {
  const cwd = temporaryFolder(t);
  copyFileSync('gen/public.proto', join(cwd, 'petstore.proto'));
  await sh(join(ROOT, 'node_modules/.bin/buf'), ['build', 'petstore.proto', '-o', 'set.binpb'], { cwd });
  const [ours, compiled] = ['gen/public.binpb', join(cwd, 'set.binpb')].map(shapeOf);
  t.true((ours?.length ?? 0) > 30);
  t.deepEqual(compiled, ours);
  const text = readFileSync('gen/public.proto', 'utf8');
  for (const { path, method } of operations) {
    const template = path.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    t.true(text.includes(`\n  // REST: ${method.toUpperCase()} ${template}\n`), path);
  }
  t.regex(
    text,
    /Errors: UNKNOWN_PET \(INVALID_ARGUMENT\), INSUFFICIENT_STOCK\s[^;]+ALREADY_EXISTS\)\n {2}rpc PlaceOrder/,
  );
  t.regex(text, /without NO_SIDE_EFFECTS, for a key that only reads:[/\s]+PERMISSION_DENIED/);
  t.regex(text, /Rules: required; 0 to 1000000000\.\n {2}optional int32 quantity/);
});

/** The types and methods of a file with descriptors, without what only servers and readers need. */
function shapeOf(file: string): readonly object[] {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(file));
  const own = set.file.filter((one) => one.package === API_PACKAGE);
  const [messages, services] = [own.flatMap((one) => one.messageType), own.flatMap((one) => one.service)];
  for (const field of messages.flatMap((message) => message.field)) delete field.options;
  for (const service of services) delete service.options;
  for (const method of services.flatMap((service) => service.method)) {
    method.options ??= create(MethodOptionsSchema);
    delete method.options.$unknown; // what is not deprecation and idempotency
  }
  const all = [...messages, ...own.flatMap((one) => one.enumType), ...services];
  return all.sort((a, b) => a.name.localeCompare(b.name));
}

for (const [path, file, expected] of FILES) {
  test(`GET, HEAD ${path} - return the file on disk, without a key, compressed for those who accept it`, async (t) => {
    const { rest } = t.context;
    const onDisk = readFileSync(file);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await rest.withKey(undefined).send(method, path);
      t.deepEqual([status, text], [200, method === 'GET' ? onDisk.toString() : '']);
      t.like(Object.fromEntries(headers), { 'content-type': TYPES[extname(file)], ...expected });
    }
    const compressed = await fetchRaw(`${rest.url}${path}`, { 'accept-encoding': 'gzip, deflate, br' });
    t.is(compressed.headers['content-encoding'], 'gzip');
    t.regex(compressed.headers.vary ?? '', /accept-encoding/i);
    t.true(gunzipSync(compressed.body).equals(onDisk)); // deepEqual would take seconds for a megabyte
    const { headers } = await rest.send('HEAD', path, { headers: { 'accept-encoding': 'gzip' } });
    const ofHead = [headers.get('content-encoding'), headers.get('content-length')];
    t.deepEqual(ofHead, ['gzip', String(compressed.body.length)], 'HEAD has what GET has');
    const refused = await fetchRaw(`${rest.url}${path}`, {
      'accept-encoding': 'br, gzip; q=0',
      'x-petstore-accept-encoding': 'gzip',
    });
    t.is(refused.headers['content-encoding'], undefined);
  });
}

test('GET / - redirects a browser to the docs page, as does /docs/; for other clients it is an error', async (t) => {
  const { rest } = t.context;
  const anonymous = rest.withKey(undefined);
  for (const [method, path, request] of [
    ['GET', '/', BROWSER],
    ['HEAD', '/', BROWSER],
    ['GET', '/docs/', {}],
  ] as const) {
    const { status, headers } = await anonymous.send(method, path, request);
    t.deepEqual([status, headers.get('location')], [302, '/docs']);
    if (path === '/') t.regex(headers.get('vary') ?? '', /\baccept\b/);
  }
  for (const headers of [{}, { accept: 'application/json' }])
    isError(t, await rest.get('/', { headers }), 404, 'ROUTE_NOT_FOUND');
  isError(t, await rest.send('POST', '/', BROWSER), 404, 'ROUTE_NOT_FOUND');
});

test('GET /docs/nothing - is ROUTE_NOT_FOUND, and no other file on disk is served', async (t) => {
  for (const path of ['nothing', 'index.html', '../package.json', '%2e%2e/package.json']) {
    isError(t, await t.context.rest.get(`/docs/${path}`), 404, 'ROUTE_NOT_FOUND');
  }
  const page = await t.context.rest.get('/docs?%66ile=docs.md&file=docs.md');
  t.regex(page.headers.get('content-type') ?? '', /^text.html/, 'the path alone names it');
});

test('GET /docs.md - has every page for callers, and every operation with its marker', async (t) => {
  const { text } = await t.context.rest.withKey(undefined).get('/docs.md');
  for (const { name, description: page } of description.tags.filter((tag) => tag['x-traitTag'])) {
    t.true(text.includes(`\n## ${name}\n\n${page}\n`), name);
  }
  for (const { path, method, operation } of operations) {
    const { summary, 'x-stability': stability, deprecated } = operation;
    const markers = [stability, deprecated && 'deprecated'].filter(Boolean).map((marker) => ` (${marker})`);
    t.true(text.includes(`\n- \`${method.toUpperCase()} ${path}\`: ${summary}${markers.join('')}\n`), path);
  }
  for (const file of readdirSync('docs/callers').filter((name) => name.endsWith('.md'))) {
    const [, title] = /^# (.+)/.exec(readFileSync(`docs/callers/${file}`, 'utf8')) ?? [];
    t.true(text.includes(`\n## ${title}\n`), file);
  }
  t.notRegex(text, /\{\{|\{base_url\}|\.md[#)]/, 'a gap that nobody filled, or a link within the repository');
  t.regex(text, /\n\| 409 \| `INSUFFICIENT_STOCK` \| FAILED_PRECONDITION \| /, 'the table of errors');
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

const page = description.tags[0]?.description ?? '';

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.+?)^\`\`\``, 'gms'))].map(([, code = '']) => code);
}

test.serial('Getting started - the commands lead from a key to an order', async (t) => {
  const { rest, key } = t.context;
  const commands = blocks('sh').filter((command) => /^(export|curl)/.test(command));
  const script = commands.join('echo\n').replace('http://127.0.0.1:8080', rest.url).replace('pst_…', key);
  const { stdout } = await sh('bash', ['-euc', script.replaceAll('curl ', 'curl -s ')]);
  t.deepEqual(stdout.trim().split('\n').slice(-5), [
    '[]',
    '{"id":1,"name":"Cats"}',
    '{"id":1,"name":"Tom","categoryId":1,"status":"available"}',
    '{"petId":1,"quantity":12,"status":"available"}',
    '{"id":1,"petId":1,"quantity":2,"complete":false}',
  ]);
});

for (const [language, program, ...options] of [
  ['js', process.execPath, '--input-type=module', '--eval'],
  ['py', 'python3', '-c'],
] as const) {
  const [code = ''] = blocks(language);
  const args = [...options, code];
  test.serial(`Getting started - the program orders once, in ${language}`, async (t) => {
    const env = { ...process.env, API_KEY: t.context.key, PROGRAM: code };
    const commands = `${[program, ...options].join(' ')} "$PROGRAM"`;
    await ordersOnce(t, t.context, { commands, cwd: temporaryFolder(t), env }, /^order \d+: 2 of Tom\n$/);
    const { stderr } = (await t.throwsAsync(sh(program, args, { env }))) as Error & { stderr: string };
    t.is([...stderr.matchAll(/^(TypeError: Invalid URL|KeyError: 'API')/gm)].length, 1, 'what a retry does not mend');
  });

  test(`Getting started - the program tells of a limit and waits, and ends with a ban, in ${language}`, async (t) => {
    const { rest, operator } = t.context;
    const API_KEY = await operator.keyOf({ perMinute: 1, perDay: 1_000 });
    const start = () => new Program(program, args, { env: { ...process.env, API: rest.url, API_KEY } });
    const waiting = start();
    t.teardown(() => waiting.process.kill());
    await until(() => /"RATE_LIMITED".*: next attempt in \d+(\.0)? s\n/.test(waiting.errors), 'what it waits for');
    const limited = rest.withKey(API_KEY);
    await until(async () => (await limited.get('/pets')).body.code === 'API_KEY_BANNED', 'the ban');
    const refused = start();
    t.is((await refused.ended).code, 1);
    t.regex(refused.errors, /Error: POST \/categories: .*"API_KEY_BANNED"/);
  });
}

testUnless<TestStack>(noGo)("gRPC - the call by grpcurl works as it stands, and shows an error's code", async (t) => {
  t.timeout(600_000, 'grpcurl is compiled');
  const { rest, key } = t.context;
  const PATH = `${await buildPrograms(GRPCURL)}:${process.env.PATH}`;
  const [, command = 'false'] = /^```bash\n(grpcurl .+?)^```/ms.exec(grpcPage) ?? [];
  const withKey = (API_KEY: string) => ({ env: { ...process.env, PATH, API: rest.url, API_KEY } });
  const { stdout } = await sh('bash', ['-euc', command], withKey(key));
  t.notThrows(() => JSON.parse(stdout));
  const refused = await sh('bash', ['-euc', `! ${command}`], withKey('pst_wrong'));
  t.regex(refused.stderr, /Code: Unauthenticated\n[\s\S]+"reason": "API_KEY_INVALID"/);
});

test('gRPC - the service config repeats a call whose connection breaks; with a key it is executed once', async (t) => {
  const { rest, key, config } = t.context;
  const [, json = ''] = /^```json\n(.+?)^```/ms.exec(grpcPage) ?? [];
  const proxy = await openProxy(t, config.port);
  const client = new Client(`127.0.0.1:${proxy.port}`, insecure, { 'grpc.service_config': json });
  t.teardown(() => client.close());
  const metadata = { 'idempotency-key': randomUUID() };
  const name = `Made by ${randomUUID()}`;
  const made = async () => {
    const categories = await readAll<{ name: string }>(rest, '/categories');
    return categories.filter((one) => one.name === name).length;
  };
  proxy.slow(1_000);
  const create = CategoryServiceService.createCategory;
  const response = new GrpcCaller(client, key).call(create, { category: { name } }, { metadata });
  await until(async () => (await made()) > 0, 'the category, whose response takes a second more');
  proxy.cut();
  proxy.restore();
  t.is((await response).name, name);
  t.is(await made(), 1);
});
