/** The metrics port: its responses and bounds, and that nothing is loaded without METRICS_PORT. */
import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { createServer, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { hostname } from 'node:os';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Gauge, Registry } from 'prom-client';
import { listen } from '../../../src/observe/metrics/listener.ts';
import { freePorts } from '../../support/ports.ts';
import { createDataDir, type ServerProcess, startServerProcess, TestProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';

interface Context {
  readonly dataDir: string;
  readonly port: number;
  readonly servers: ServerProcess[];
  readonly remove: () => Promise<void>;
}
const test = anyTest as TestFn<Context>;

const onLinux = process.platform === 'linux' ? test : test.skip;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  const [port = 0] = await freePorts(1);
  t.context = { dataDir: path, port, servers: [], remove };
});
test.afterEach.always(async ({ context }) => {
  for (const server of context.servers) {
    server.grpc.close();
    await server.end('SIGTERM');
  }
  await context.remove();
});

async function start(t: ExecutionContext<Context>, settings: Readonly<Record<string, string>> = {}) {
  const server = await startServerProcess(t.context.dataDir, { METRICS_PORT: String(t.context.port), ...settings });
  t.context.servers.push(server);
  return server;
}

/** Opens a connection. `isClosed` is true once the server has closed it. */
async function open(port: number): Promise<{ readonly socket: Socket; isClosed: boolean }> {
  const opened = { socket: connect(port, '127.0.0.1'), isClosed: false };
  opened.socket
    .on('error', () => undefined)
    .on('close', () => {
      opened.isClosed = true;
    });
  opened.socket.resume();
  await until(() => opened.isClosed || opened.socket.readyState === 'open', 'a connection');
  return opened;
}

test('Metrics port - GET /metrics returns the exposition, and any other request is a 404', async (t) => {
  await start(t);
  const url = `http://127.0.0.1:${t.context.port}`;
  const response = await fetch(`${url}/metrics`);
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  t.regex(await response.text(), /^petstore_build_info\{version="1\.0\.0",node="\d+\.\d+\.\d+".*\} 1$/m);
  t.is((await fetch(`${url}/metrics`, { method: 'HEAD' })).status, 200);
  for (const path of ['/', '/metrics/', '/metrics?a=b', '/debug']) t.is((await fetch(url + path)).status, 404, path);
  t.is((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status, 404);
});

test('Metrics port - is open on loopback only, unless METRICS_HOST is set', async (t) => {
  await start(t);
  const other = `http://127.0.0.2:${t.context.port}/metrics`;
  await t.throwsAsync(fetch(other));
  const [, { port, servers }] = [await t.context.servers.pop()?.end('SIGTERM'), t.context];
  t.is(servers.length, 0);
  await start(t, { METRICS_PORT: String(port), METRICS_HOST: '127.0.0.2' });
  t.is((await fetch(other)).status, 200);
});

/** The status of a scrape with this Host. */
function scrapeFor(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path: '/metrics', headers: { host }, agent: false }, (response) => {
      resolve(response.resume().statusCode);
    });
    sent.on('error', reject).end();
  });
}

test('Metrics port - answers for addresses and localhost, and no web page whose name resolves to it', async (t) => {
  await start(t);
  const { port } = t.context;
  for (const host of [
    `127.0.0.1:${port}`,
    '127.0.0.1',
    `localhost:${port}`,
    'LocalHost',
    '10.0.0.7:9464',
    `[::1]:${port}`,
  ]) {
    t.is(await scrapeFor(port, host), 200, host);
  }
  for (const host of ['evil.example', `evil.example:${port}`, `localhost.evil.example:${port}`, '127.0.0.1.evil']) {
    t.is(await scrapeFor(port, host), 421, host);
  }
});

test('Metrics port - answers for the name in METRICS_HOST', async (t) => {
  const registry = new Registry();
  const name = hostname();
  const listener = await listen(registry, { host: name, port: t.context.port }, () => undefined);
  const { address } = await lookup(name);
  const ask = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { port: t.context.port, host: address, path: '/metrics', headers: { host }, agent: false };
      request(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
  t.is(await ask(`${name}:${t.context.port}`), 200);
  t.is(await ask('evil.example'), 421);
  await listener.close();
});

test('Metrics port - idle connections keep no scrape out, are few, and are closed', async (t) => {
  await start(t);
  const held: Awaited<ReturnType<typeof open>>[] = [];
  for (let count = 0; count < 40; count += 1) held.push(await open(t.context.port));
  t.is(await scrapeFor(t.context.port, 'localhost'), 200);
  await until(() => held.slice(0, 9).every(({ isClosed }) => isClosed), 'the close of the oldest connections');
  t.deepEqual(
    held.slice(9).filter(({ isClosed }) => isClosed),
    [],
  );
  await until(() => held.every(({ isClosed }) => isClosed), 'the close of the silent connections');
});

onLinux('Metrics port - connections that can not be accepted do not end the server', async (t) => {
  const server = await start(t);
  const limit = (files: string) => execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${files}`]);
  limit('10:1024'); // fewer than it has open
  for (let count = 0; count < 3; count += 1) (await open(t.context.port)).socket.destroy();
  limit('1024:1024');
  t.is(await scrapeFor(t.context.port, 'localhost'), 200);
});

test('Metrics port - is closed, and nothing is loaded, unless METRICS_PORT is set', async (t) => {
  const script =
    'import { createRequire } from "node:module"; process.on("exit", () => console.log("loaded", ' +
    'Object.keys(createRequire("/").cache).filter((file) => file.includes("prom-client")).length > 0))';
  const reportLoads = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
  const loaded = async (settings: Readonly<Record<string, string>>) => {
    const server = await start(t, { ...reportLoads, ...settings });
    t.context.servers.pop();
    await server.grpc.category(); // the server has started
    server.grpc.close();
    await server.end('SIGTERM');
    return /loaded (\w+)/.exec(server.output)?.[1];
  };
  t.is(await loaded({ METRICS_PORT: '' }), 'false');
  t.is(await loaded({}), 'true');
});

test('Metrics port - a port in use fails the start with one line', async (t) => {
  const taken = createServer().listen(t.context.port, '127.0.0.1');
  const [grpcPort] = await freePorts(1);
  const settings = { DATA_DIR: t.context.dataDir, GRPC_PORT: String(grpcPort), METRICS_PORT: String(t.context.port) };
  const server = new TestProcess('src/main.ts', settings);
  t.is((await server.ended).code, 1);
  taken.close();
  t.regex(server.errors, /^petstore: METRICS_PORT can't be opened on 127\.0\.0\.1, port \d+: .*EADDRINUSE[^\n]*\n$/);
});

test('Metrics port - a metric that can not be read is a 500, and the cause is logged', async (t) => {
  const registry = new Registry();
  const fail = () => Promise.reject(new Error('no such number'));
  new Gauge({ name: 'broken', help: 'It never is.', registers: [registry], collect: fail });
  const failures: unknown[] = [];
  const listener = await listen(registry, { host: '127.0.0.1', port: t.context.port }, (error) => failures.push(error));
  t.is((await fetch(`http://127.0.0.1:${t.context.port}/metrics`)).status, 500);
  t.like(failures, [{ message: 'no such number' }]);
  await listener.close();
});

test('Metrics port - however often it is scraped, the metrics are collected once a second at most', async (t) => {
  let collected = 0;
  const registry = new Registry();
  const collect = () => {
    collected += 1;
  };
  new Gauge({ name: 'collected', help: 'How often.', registers: [registry], collect });
  const listener = await listen(registry, { host: '127.0.0.1', port: t.context.port }, (error) =>
    t.fail(String(error)),
  );
  const scrape = async () => (await fetch(`http://127.0.0.1:${t.context.port}/metrics`)).text();
  const beganMs = performance.now();
  while (performance.now() < beganMs + 2_200) await Promise.all(Array.from({ length: 10 }, scrape));
  const mayBe = Math.floor((performance.now() - beganMs) / 1_000) + 1;
  t.true(collected > 1 && collected <= mayBe, `${collected} of ${mayBe}`);
  await listener.close();
});
