/** `npm run edge`: a standalone Envoy, in front of servers that start and stop. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { demoKeyFile } from '../../src/access/keys/key-files.ts';
import { openEvents } from '../support/event-source.ts';
import { bearer, insecure, unary } from '../support/grpc.ts';
import { childrenOf } from '../support/launcher.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { type Certificates, makeCertificates, noOpenssl } from '../support/tls.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { until } from '../support/until.ts';

type Settings = Readonly<Record<string, string>>;

interface Context {
  readonly certificates: Certificates;
  readonly folder: string;
  readonly ports: { readonly edge: number; readonly server: number; readonly admin: number };
  readonly processes: TestProcess[];
  readonly remove: () => Promise<void>;
}

const test = testUnless<Context>(noOpenssl);
const CLEAN = { code: 0, signal: null };

test.beforeEach(async (t) => {
  const certificates = await makeCertificates();
  const { path: folder, remove } = await createDataDir();
  const [edge = 0, server = 0, admin = 0] = await freePorts(3);
  t.context = { certificates, folder, ports: { edge, server, admin }, processes: [], remove };
});
test.afterEach.always(async ({ context: { processes, certificates, remove } }) => {
  for (const one of processes) await one.end('SIGKILL');
  await certificates.remove();
  await remove();
});

function run({ folder, ports, processes }: Context, program: 'edge' | 'server', more: Settings = {}): TestProcess {
  const started = new TestProcess(`src/launcher/${program}-main.ts`, {
    ...UNLIMITED,
    EDGE_SECRET: 'the-secret-of-this-test',
    DATA_DIR: join(folder, program),
    PORT: String(ports.edge),
    GRPC_PORT: String(ports.server),
    ENVOY_ADMIN_PORT: String(ports.admin),
    ...more,
  });
  processes.push(started);
  return started;
}

/** The INTERNAL_TLS settings with the certificate `name`. */
function tlsAs({ certificates }: Context, name: string): Settings {
  return {
    INTERNAL_TLS_CA: certificates.path('ca.pem'),
    INTERNAL_TLS_CERT: certificates.path(`${name}.pem`),
    INTERNAL_TLS_KEY: certificates.path(`${name}-key.pem`),
  };
}

async function get({ ports, folder }: Context, path: string): Promise<number> {
  const key = await readFile(demoKeyFile(join(folder, 'server')), 'utf8').catch(() => '');
  const headers = { authorization: `Bearer ${key.trim()}` };
  return fetch(`http://127.0.0.1:${ports.edge}${path}`, { headers }).then(
    ({ status }) => status,
    () => 0,
  );
}

async function newCategory({ ports, folder }: Context, port = ports.edge): Promise<number> {
  const key = await readFile(demoKeyFile(join(folder, 'server')), 'utf8');
  const headers = { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${port}/categories`, {
    method: 'POST',
    headers,
    body: '{"name":"Cats"}',
  });
  return ((await response.json()) as { id: number }).id;
}

/** A caller says what only an edge may say. */
async function pretendToLeave(address: string): Promise<void> {
  const client = new Client(address, insecure);
  const metadata = new Metadata();
  metadata.set('x-petstore-leaving', '1');
  await unary(client, HealthService.check, { service: '' }, metadata);
  client.close();
}

/** Resolves with the end of a stream of events. */
async function followGrpc(address: string, key: string): Promise<ServiceError> {
  const client = new Client(address, insecure);
  const { path, requestSerialize, responseDeserialize } = Events.watchEvents;
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { types: [] }, bearer(key));
  const [error] = await once(call.resume(), 'error');
  client.close();
  return error;
}

async function stats({ ports }: Context): Promise<string> {
  return (await fetch(`http://127.0.0.1:${ports.admin}/stats`)).text();
}

test('Standalone edge - starts without a server and responds with 503, then with 200 once a server runs', async (t) => {
  const edge = run(t.context, 'edge');
  await edge.says(
    /^The edge is open at http:\/\/127\.0\.0\.1:\d+, and sends calls to 127\.0\.0\.1:\d+ in plain text\..+\n$/,
  );
  t.is(await get(t.context, '/healthz'), 503);
  const server = run(t.context, 'server');
  await server.says(/"serving"/);
  await until(async () => (await get(t.context, '/healthz')) === 200, 'a healthy edge');
  await until(async () => (await get(t.context, '/pets')) === 200, 'a call with an API key');
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);
  t.regex(edge.output, /Stopping: open requests have 10 seconds[^\n]+\nStopped\.\n$/);
});

test('Standalone edge - without a server refuses each request in the format of its protocol', async (t) => {
  const edge = run(t.context, 'edge');
  await edge.says(/The edge is open/);
  const { ports } = t.context;
  const rest = { code: 'UNAVAILABLE', status: 503 };
  const connect = { code: 'unavailable' };
  const requests: readonly [method: string, path: string, type: string | undefined, expected: object | undefined][] = [
    ['GET', '/pets', undefined, rest],
    ['HEAD', '/pets', undefined, undefined],
    ['POST', '/pets', 'application/json', rest],
    ['GET', '/docs', undefined, rest],
    ['GET', '/docs?x=1', undefined, rest],
    ['POST', '/petstore.v1.PetService/ListPets', 'application/proto', connect],
  ];
  for (const [method, path, type, expected] of requests) {
    const options = type === undefined ? {} : { headers: { 'content-type': type }, body: '{}' };
    const response = await fetch(`http://127.0.0.1:${ports.edge}${path}`, { method, ...options });
    t.is(response.status, 503, path);
    t.is(response.headers.get('retry-after'), '1', path);
    t.is(response.headers.get('content-type'), 'application/json', path);
    if (expected === undefined) t.is(await response.text(), '');
    else t.like(await response.json(), expected, path);
  }
});

test('Standalone edge - restarts Envoy after its death', async (t) => {
  const edge = run(t.context, 'edge');
  await edge.says(/The edge is open/);
  const [envoy] = (await childrenOf(edge.pid)).filter(({ command }) => command.includes('--config-path'));
  process.kill(envoy?.pid ?? 0, 'SIGKILL');
  await edge.says(
    /Envoy ended unexpectedly \(signal SIGKILL\)[^\n]+Starting it again …\n(.*\n)*Envoy serves again\.\n/,
  );
  t.is(await get(t.context, '/healthz'), 503);
  t.deepEqual(await edge.end('SIGINT'), CLEAN);
  t.false((await childrenOf(edge.pid)).length > 0);
});

test('Standalone edge - with LOGS=stdout writes JSON lines to stdout only, and no log files', async (t) => {
  const edge = run(t.context, 'edge', { LOGS: 'stdout' });
  await edge.says(/The edge is open/);
  t.is(await get(t.context, '/healthz'), 503);
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);
  const lines = edge.output.trimEnd().split('\n');
  const logged = lines.map((line) => JSON.parse(line));
  t.true(logged.some(({ msg }) => msg === 'Stopped.'));
  t.true(logged.some(({ path, status }) => path === '/healthz' && status === 503));
  t.is(edge.errors, '');
  await t.throwsAsync(readFile(join(t.context.folder, 'edge/logs/access.log')), { code: 'ENOENT' });
});

test('Standalone edge - bad settings are refused with one line', async (t) => {
  const shared = { DATABASE_URL: 'postgres://a@127.0.0.1/b', REDIS_URL: 'redis://127.0.0.1' };
  const cases: [Settings, RegExp][] = [
    [{ SERVERS: 'petstore-0:50051' }, /^petstore: SERVERS names petstore-0, which is not loopback: set [^\n]+\n$/],
    [{ EDGE_SECRET: '' }, /^petstore: npm run edge needs EDGE_SECRET[^\n]+\n$/],
    [{ INSTANCES: '2', ...shared }, /^petstore: INSTANCES=2 is not for npm run edge[^\n]+SERVERS[^\n]+\n$/],
    [
      { ...tlsAs(t.context, 'client'), INTERNAL_TLS_CA: '/nowhere' },
      /^petstore: INTERNAL_TLS_CA can't be read[^\n]+\n$/,
    ],
  ];
  for (const [settings, line] of cases) {
    const edge = run(t.context, 'edge', settings);
    t.deepEqual(await edge.ended, { code: 1, signal: null });
    t.regex(edge.errors, line);
    t.is(edge.output, '');
  }
});

test('Standalone edge - with mutual TLS a server needs a certificate for its name in SERVERS', async (t) => {
  const { certificates, ports } = t.context;
  await certificates.issue('right', 'DNS:localhost,IP:127.0.0.1');
  await certificates.issue('other', 'DNS:petstore-7,IP:127.0.0.7');
  for (const host of ['localhost', '127.0.0.1']) {
    const settings = { ...tlsAs(t.context, 'client'), SERVERS: `${host}:${ports.server}` };
    const edge = run(t.context, 'edge', settings);
    await edge.says(/by mutual TLS/);
    const wrong = run(t.context, 'server', tlsAs(t.context, 'other'));
    await wrong.says(/"serving"/);
    await until(async () => /petstore\.ssl\.fail_verify_san: [1-9]/.test(await stats(t.context)), 'a refused name');
    t.is(await get(t.context, '/healthz'), 503, host);
    await wrong.end('SIGKILL');
    const right = run(t.context, 'server', tlsAs(t.context, 'right'));
    await until(async () => (await get(t.context, '/pets')) === 200, `the server ${host}`);
    await right.end('SIGKILL');
    t.deepEqual(await edge.end('SIGTERM'), CLEAN);
  }
});

for (const internal of ['in plain text', 'by mutual TLS'] as const) {
  test(`Standalone edge - ends streams of events within 3 s, ${internal}; who goes on elsewhere has all`, async (t) => {
    const { certificates, ports, folder } = t.context;
    await certificates.issue('petstore-0', 'DNS:localhost');
    const isTls = internal === 'by mutual TLS';
    run(t.context, 'server', isTls ? tlsAs(t.context, 'petstore-0') : {});
    const settings = isTls ? { ...tlsAs(t.context, 'client'), SERVERS: `localhost:${ports.server}` } : {};
    const edge = run(t.context, 'edge', settings);
    const [other = 0, otherAdmin = 0] = await freePorts(2);
    const more = { DATA_DIR: join(folder, 'other'), PORT: String(other), ENVOY_ADMIN_PORT: String(otherAdmin) };
    run(t.context, 'edge', { ...settings, ...more });
    await until(async () => (await get(t.context, '/pets')) === 200, 'the server');
    await until(
      async () => (await get({ ...t.context, ports: { ...ports, edge: other } }, '/pets')) === 200,
      'the other',
    );

    const key = (await readFile(demoKeyFile(join(folder, 'server')), 'utf8')).trim();
    const stream = await openEvents(`http://127.0.0.1:${ports.edge}/events/stream`, key);
    t.is((await stream.next())?.event, 'ready');
    const grpc = followGrpc(`127.0.0.1:${ports.edge}`, key);
    await pretendToLeave(`127.0.0.1:${ports.edge}`);
    if (!isTls) await pretendToLeave(`127.0.0.1:${ports.server}`);
    const first = await newCategory(t.context);
    const [seen] = await stream.take(1);
    t.is(seen?.data.category.id, first);

    const writing = new AbortController();
    const created: number[] = [];
    const writes = (async () => {
      while (!writing.signal.aborted) created.push(await newCategory(t.context, other));
    })();
    const ids: number[] = [];
    const ended = (async () => {
      for (let event = await stream.next(); event !== undefined; event = await stream.next()) ids.push(event.data.id);
    })();
    const beganMs = performance.now();
    t.deepEqual(await edge.end('SIGTERM'), CLEAN);
    const tookMs = performance.now() - beganMs;
    t.true(tookMs < 3_000, `${tookMs} ms`);
    await ended; // between two events
    t.like(await grpc, {
      code: status.UNAVAILABLE,
      details: 'the service is not available just now; try again shortly',
    });
    writing.abort();
    await writes;
    const resumed = await openEvents(`http://127.0.0.1:${other}/events/stream?after=${ids.at(-1) ?? seen?.id}`, key);
    const rest = await resumed.take(created.length - ids.length);
    ids.push(...rest.map(({ data }) => data.id));
    t.deepEqual(
      ids,
      created.map((_, index) => Number(seen?.id) + 1 + index),
    );
    resumed.close();
  });
}
