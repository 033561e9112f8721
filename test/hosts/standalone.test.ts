/**
 * `npm run server`: a standalone server, which serves clients with a certificate of its authority. `npm run edge`: a
 * standalone Envoy, in front of servers that start and stop.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { connect } from 'node:tls';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { HealthCheckResponse_ServingStatus as Health, HealthService } from '../../gen/grpc/health/v1/health.ts';
import { insecure, unary } from '../support/calls/grpc.ts';
import { freePorts } from '../support/scope.ts';
import { childrenOf } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { type Context, EDGE_SECRET, get, run, test } from './standalone.ts';

const HOST = '127.0.0.2';
const CLEAN = { code: 0, signal: null };

/** A client with the certificate `name`, or without a certificate. */
async function clientAs({ certificates, ports }: Context, name: string | undefined): Promise<Client> {
  const read = async (end: string) => (name === undefined ? null : certificates.read(`${name}${end}`));
  const ssl = credentials.createSsl(await certificates.read('ca.pem'), await read('-key.pem'), await read('.pem'));
  return new Client(`${HOST}:${ports.server}`, ssl, { 'grpc.ssl_target_name_override': 'petstore-0' });
}

/** Checks health as an edge does, which proves itself. */
const check = async (client: Client, service = '') => {
  const proof = new Metadata();
  proof.set('x-petstore-edge', EDGE_SECRET);
  return (await unary(client, HealthService.check, { service }, proof)).message.status;
};

test('Standalone - an invalid setting is exit code 1, a temporary failure is 75', async (t) => {
  const { certificates, ports } = t.context;
  const [nobody] = await freePorts(1);
  const shared = { OPERATOR_KEY: 'the-operator-of-this-test', DATABASE_URL: `postgres://x@127.0.0.1:${nobody}/x` };
  const mixed = { ...certificates.internalTls('server'), INTERNAL_TLS_KEY: certificates.path('client-key.pem') };
  for (const [program, code, settings, lines] of [
    ['edge', 1, { EDGE_SECRET: '' }, /^petstore: npm run edge needs EDGE_SECRET[^\n]+\n$/],
    ['server', 1, mixed, /^petstore: INTERNAL_TLS_KEY is not the key of [^\n]+\n$/],
    ['server', 1, { METRICS_PORT: String(ports.server) }, /^petstore: port \d+ is busy[^\n]+METRICS_PORT[^\n]+\n$/],
    ['server', 75, shared, /^petstore: [^\n]*ECONNREFUSED[^\n]*\n$/],
  ] as const) {
    const refused = run(t, program, settings);
    t.deepEqual(await refused.ended, { code, signal: null }, refused.errors);
    t.regex(refused.errors, lines);
  }
});

test('Standalone server - is one process, and on SIGTERM readiness fails first, while calls are served', async (t) => {
  const server = run(t, 'server');
  await server.says(/"serving"/);
  t.is(server.errors, '');
  t.deepEqual(await childrenOf(server.pid), []);
  const second = run(t, 'server');
  t.deepEqual(await second.ended, { code: 1, signal: null });
  t.regex(second.errors, /^petstore: port \d+ is busy[^\n]+GRPC_PORT[^\n]+\n$/);

  const edge = new Client(`127.0.0.1:${t.context.ports.server}`, insecure);
  const checkReadiness = () => check(edge, 'petstore.TakesCalls');
  t.is(await checkReadiness(), Health.SERVING);
  server.process.kill('SIGTERM');
  await until(async () => (await checkReadiness()) === Health.NOT_SERVING, 'NOT_SERVING');
  t.is(await check(edge), Health.SERVING, 'it still serves');
  t.is(await checkReadiness(), Health.NOT_SERVING);
  t.deepEqual(await server.ended, CLEAN);
  edge.close();
});

test('Mutual TLS - only a client with a certificate of the authority is served', async (t) => {
  const { certificates, ports } = t.context;
  await certificates.issue('petstore-0', `DNS:petstore-0,IP:${HOST}`);
  await run(t, 'server', { GRPC_HOST: HOST, ...certificates.internalTls('petstore-0') }).says(/"serving"/);
  const known = await clientAs(t.context, 'client');
  t.is(await check(known), Health.SERVING);
  known.close();
  for (const name of ['stranger', undefined]) {
    const client = await clientAs(t.context, name);
    const error = await t.throwsAsync<ServiceError>(check(client), undefined, name);
    t.regex(error?.message ?? '', /UNAVAILABLE/, name);
    client.close();
  }
  const plain = new Client(`${HOST}:${ports.server}`, insecure);
  await t.throwsAsync(check(plain));
  plain.close();
  const [cert, key] = await Promise.all(['client.pem', 'client-key.pem'].map(certificates.read));
  const identity = { cert, key, rejectUnauthorized: false, maxVersion: 'TLSv1.2' } as const;
  const older = once(connect({ host: HOST, port: ports.server, ...identity }), 'secureConnect');
  await t.throwsAsync(older, { message: /alert protocol version/ });
});

test('Mutual TLS - a handshake that is not finished ends after 10 seconds, the oldest of 257 at once', async (t) => {
  const { certificates, ports } = t.context;
  await certificates.issue('petstore-0', `DNS:petstore-0,IP:${HOST}`);
  await run(t, 'server', { GRPC_HOST: HOST, ...certificates.internalTls('petstore-0') }).says(/"serving"/);
  const known = await clientAs(t.context, 'client');
  t.is(await check(known), Health.SERVING); // a finished one counts no more
  const openOne = async () => {
    const socket = createConnection(ports.server, HOST).on('error', () => undefined);
    t.teardown(() => socket.destroy());
    await once(socket.resume(), 'connect');
    return socket;
  };
  const all: Socket[] = [];
  for (let count = 0; count < 256; count += 1) all.push(await openOne());
  t.false(all.some(({ closed }) => closed));
  all.push(await openOne());
  await until(() => all[0]?.closed, 'the end of the oldest', 5_000);
  t.is(all.filter(({ closed }) => closed).length, 1);
  t.is(await check(known), Health.SERVING);
  known.close();
  t.true(await until(() => all.every(({ closed }) => closed), 'the end of all', 15_000));
});

test('Standalone edge - without a server it responds with 503, then with 200; Envoy is restarted', async (t) => {
  const edge = run(t, 'edge');
  const opened = 'The edge is open at http://127\\.0\\.0\\.1:\\d+';
  await edge.says(new RegExp(`^petstore \\S+: starting Envoy …\\n${opened}\\..+\\n$`));
  const [envoy] = (await childrenOf(edge.pid)).filter(({ command }) => command.includes('--config-path'));
  process.kill(envoy?.pid ?? 0, 'SIGKILL');
  await edge.says(/Envoy ended unexpectedly \(signal SIGKILL\)[^\n]+again …\n(.*\n)*Envoy serves again\.\n/);
  t.is(await get(t, '/healthz'), 503);
  await run(t, 'server').says(/"serving"/);
  await until(async () => (await get(t, '/pets')) === 200, 'a call with an API key');
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);
  t.regex(edge.output, /Stopping: open requests have 10 seconds[^\n]+\nStopped\.\n$/);
  t.deepEqual(await childrenOf(edge.pid), []);
});

test('Standalone edge - with mutual TLS a server needs a certificate for its name in SERVERS', async (t) => {
  const { certificates, ports, folder } = t.context;
  await certificates.issue('right', 'DNS:localhost');
  await certificates.issue('other', 'DNS:petstore-7,IP:127.0.0.7');
  const SERVERS = `localhost:${ports.server}`;
  const edge = run(t, 'edge', { ...certificates.internalTls('client'), SERVERS, LOGS: 'stdout' });
  await edge.says(/The edge is open/);
  const wrong = run(t, 'server', certificates.internalTls('other'));
  await wrong.says(/"serving"/);
  const stats = async () => (await fetch(`http://127.0.0.1:${ports.admin}/stats`)).text();
  await until(async () => /petstore\.ssl\.fail_verify_san: [1-9]/.test(await stats()), 'a refused name');
  t.is(await get(t, '/healthz'), 503);
  await wrong.end('SIGKILL');
  run(t, 'server', certificates.internalTls('right'));
  await until(async () => (await get(t, '/pets')) === 200, 'the server');
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);

  const logged = edge.output.split('\n').filter(Boolean); // LOGS=stdout: JSON lines, and no log files
  const lines = logged.map((line) => JSON.parse(line));
  t.true(lines.some(({ msg }) => msg === 'Stopped.'));
  t.true(lines.some(({ path, status: code }) => path === '/healthz' && code === 503));
  t.is(edge.errors, '');
  await t.throwsAsync(readFile(`${folder}/edge/logs/access.log`), { code: 'ENOENT' });
});
