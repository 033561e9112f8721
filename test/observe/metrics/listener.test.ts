/** The metrics port: its responses and bounds, and that nothing is loaded without METRICS_PORT. */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { hostname } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { Gauge, Registry } from 'prom-client';
import { listen } from '../../../src/platform/observe/metrics/listener.ts';
import { freePorts, temporaryFolder } from '../../support/scope.ts';
import { startServerProcess } from '../../support/service/process.ts';
import { until } from '../../support/until.ts';

/** Opens the port. `collect` is called when the metrics are collected. */
async function open(t: ExecutionContext, host = '127.0.0.1', collect = () => Promise.resolve()) {
  const [port = 0] = await freePorts(1);
  const registry = new Registry();
  new Gauge({ name: 'collected', help: 'How often.', registers: [registry], collect });
  t.teardown(await listen(registry, { host, port }, () => undefined));
  return port;
}

async function scrapeFor(port: number, host: string, address = '127.0.0.1'): Promise<number> {
  const options = { port, host: address, path: '/metrics', headers: { host }, agent: false };
  const [response] = await once(request(options).end(), 'response');
  return response.resume().statusCode;
}

test('Metrics port - GET /metrics returns the exposition, and any other request is a 404', async (t) => {
  const port = await open(t);
  const url = `http://127.0.0.1:${port}`;
  const response = await fetch(`${url}/metrics`);
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  t.regex(await response.text(), /^collected 0$/m);
  t.is((await fetch(`${url}/metrics`, { method: 'HEAD' })).status, 200);
  for (const path of ['/', '/metrics/', '/metrics?a=b', '/debug']) t.is((await fetch(url + path)).status, 404, path);
  t.is((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status, 404);
});

test('Metrics port - answers for addresses, localhost and METRICS_HOST, and for no other name', async (t) => {
  const name = hostname();
  const port = await open(t, name);
  const { address } = await lookup(name);
  for (const host of [name, `${name}:${port}`, '127.0.0.1', `localhost:${port}`, 'LocalHost', `[::1]:${port}`]) {
    t.is(await scrapeFor(port, host, address), 200, host);
  }
  for (const host of ['evil.example', `evil.example:${port}`, `localhost.evil.example:${port}`, '127.0.0.1.evil']) {
    t.is(await scrapeFor(port, host, address), 421, host); // a web page whose name resolves to this machine
  }
});

test('Metrics port - idle connections are few, and are closed within seconds', async (t) => {
  const port = await open(t);
  const held: Socket[] = [];
  for (let count = 0; count < 40; count += 1) {
    const socket = connect(port, '127.0.0.1').resume();
    held.push(socket.on('error', () => undefined));
    await until(() => socket.closed || socket.readyState === 'open', 'a connection');
  }
  await until(() => held.slice(32).every(({ closed }) => closed), 'the close of those beyond 32', 4_000);
  t.false(held.slice(0, 32).some(({ closed }) => closed));
  await until(() => held.every(({ closed }) => closed), 'the close of the silent', 15_000);
  t.is(await scrapeFor(port, 'localhost'), 200);
});

test('Metrics port - of many requests in one write only the first may be answered', async (t) => {
  const port = await open(t);
  for (const count of [50, 1_000]) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count));
    await until(() => socket.closed, 'the end', 2_000);
    t.true(received.split('HTTP/1.1 ').length <= (count === 50 ? 2 : 1), 'none of a thousand is even read');
  }
  t.is(await scrapeFor(port, 'localhost'), 200);
});

test('Metrics port - however often it is scraped, the metrics are collected once a second at most', async (t) => {
  let collected = 0;
  const port = await open(t, '127.0.0.1', async () => {
    collected += 1;
  });
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const beganMs = performance.now();
  while (collected < 2) await Promise.all([scrape(), scrape()]);
  t.true(performance.now() > beganMs + 1_000);
});

test('Metrics port - is closed, and nothing is loaded, unless METRICS_PORT is set', async (t) => {
  const script =
    'import { registerHooks } from "node:module"; const loaded = new Set(); registerHooks({ load(url, context, next) ' +
    '{ loaded.add(/prom-client|@opentelemetry/.exec(url)?.[0]); return next(url, context); } });' +
    'process.on("exit", () => console.log("loaded", [...loaded].sort().join(" ")))';
  const reportLoads = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
  const [port = 0] = await freePorts(1);
  const folder = temporaryFolder(t);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }; // its packages too are loaded for it alone
  for (const [settings, loaded] of [
    [{}, ''],
    [{ METRICS_PORT: String(port), ...traced }, '@opentelemetry prom-client '],
  ] as const) {
    const server = await startServerProcess(t, folder, { ...reportLoads, ...settings });
    if (loaded !== '') {
      t.is(await scrapeFor(port, 'localhost'), 200);
      await t.throwsAsync(fetch(`http://127.0.0.2:${port}/metrics`), undefined, 'it is open on loopback only');
    }
    await server.end('SIGTERM');
    t.is(/^loaded (.*)$/m.exec(server.output)?.[1], loaded);
  }
});
