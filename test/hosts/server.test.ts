/** `npm run server`: a standalone server, which serves clients with a certificate of its authority. */
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { HealthCheckResponse_ServingStatus as Health, HealthService } from '../../gen/grpc/health/v1/health.ts';
import { insecure, unary } from '../support/grpc.ts';
import { childrenOf } from '../support/launcher.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { type Certificates, makeCertificates, noOpenssl } from '../support/tls.ts';
import { until } from '../support/until.ts';

interface Context {
  readonly certificates: Certificates;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly processes: TestProcess[];
  readonly remove: () => Promise<void>;
}

const test = testUnless<Context>(noOpenssl);
const HOST = '127.0.0.2';

test.beforeEach(async (t) => {
  const certificates = await makeCertificates();
  const { path, remove } = await createDataDir();
  const [port = 0] = await freePorts(1);
  await certificates.issue('petstore-0', `DNS:petstore-0,IP:${HOST}`);
  const settings = { DATA_DIR: path, GRPC_PORT: String(port) };
  t.context = { certificates, port, settings, processes: [], remove };
});
test.afterEach.always(async ({ context: { processes, certificates, remove } }) => {
  for (const one of processes) await one.end('SIGKILL');
  await certificates.remove();
  await remove();
});

function run({ settings, processes }: Context, more: Readonly<Record<string, string>> = {}): TestProcess {
  const server = new TestProcess('src/launcher/server-main.ts', { ...settings, ...more });
  processes.push(server);
  return server;
}

async function startWithTls(context: Context): Promise<TestProcess> {
  const { certificates } = context;
  const server = run(context, {
    GRPC_HOST: HOST,
    INTERNAL_TLS_CA: certificates.path('ca.pem'),
    INTERNAL_TLS_CERT: certificates.path('petstore-0.pem'),
    INTERNAL_TLS_KEY: certificates.path('petstore-0-key.pem'),
  });
  await server.says(/"serving"/);
  return server;
}

/** A client with the certificate `name`, or without a certificate. */
async function clientAs({ certificates, port }: Context, name: string | undefined): Promise<Client> {
  const [ca, key, cert] = await Promise.all([
    certificates.read('ca.pem'),
    ...(name === undefined ? [null, null] : [certificates.read(`${name}-key.pem`), certificates.read(`${name}.pem`)]),
  ]);
  const options = { 'grpc.ssl_target_name_override': 'petstore-0' };
  return new Client(`${HOST}:${port}`, credentials.createSsl(ca, key ?? null, cert ?? null), options);
}

const EDGE_SECRET = 'the-secret-of-this-test';

/** Checks health as an edge does, which proves itself. */
const check = async (client: Client, service = '') => {
  const proof = new Metadata();
  proof.set('x-petstore-edge', EDGE_SECRET);
  return (await unary(client, HealthService.check, { service }, proof)).message.status;
};

test('Standalone server - beyond loopback without INTERNAL_TLS it fails to start, with one line', async (t) => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
    const server = run(t.context, { GRPC_HOST: host });
    t.deepEqual(await server.ended, { code: 1, signal: null });
    t.regex(server.errors, /^petstore: GRPC_HOST names [^\n]+ not loopback: set INTERNAL_TLS_CA, [^\n]+\n$/, host);
    t.is(server.output, '');
  }
});

test('Standalone server - an invalid certificate or key is refused with one line that names the setting', async (t) => {
  const { certificates } = t.context;
  const ca = certificates.path('ca.pem');
  const cert = certificates.path('petstore-0.pem');
  const cases: [RegExp, string, string, string][] = [
    [/INTERNAL_TLS_CA can't be read: ENOENT/, '/nowhere', cert, certificates.path('petstore-0-key.pem')],
    [/INTERNAL_TLS_KEY is not the key of INTERNAL_TLS_CERT/, ca, cert, certificates.path('client-key.pem')],
    [/INTERNAL_TLS_KEY must be a PEM file with a private key/, ca, cert, cert],
  ];
  for (const [expected, INTERNAL_TLS_CA, INTERNAL_TLS_CERT, INTERNAL_TLS_KEY] of cases) {
    const server = run(t.context, { INTERNAL_TLS_CA, INTERNAL_TLS_CERT, INTERNAL_TLS_KEY });
    t.deepEqual(await server.ended, { code: 1, signal: null });
    const [startLine = '', problem = '', ...rest] = server.errors.trimEnd().split('\n');
    t.regex(startLine, /^Starting a server without Envoy/);
    t.regex(problem, expected);
    t.deepEqual(rest, []);
  }
});

test('Standalone server - INSTANCES=2 and a busy port are refused with one line each', async (t) => {
  const several = { INSTANCES: '2', DATABASE_URL: 'postgres://a@127.0.0.1/b', REDIS_URL: 'redis://127.0.0.1' };
  const two = run(t.context, several);
  t.deepEqual(await two.ended, { code: 1, signal: null });
  t.regex(two.errors, /^petstore: INSTANCES=2 is not for npm run server[^\n]+\n$/);
  await run(t.context).says(/"serving"/);
  const second = run(t.context);
  t.deepEqual(await second.ended, { code: 1, signal: null });
  t.regex(second.errors, /^petstore: port \d+ is busy[^\n]+GRPC_PORT[^\n]+\n$/);
});

test('Standalone server - is one process, with the Node options that the launcher gives a server', async (t) => {
  const server = run(t.context);
  await server.says(/"serving"/);
  t.regex(server.errors, /^Starting a server without Envoy: [^\n]+127\.0\.0\.1:\d+ in plain text[^\n]+\n$/);
  t.deepEqual(await childrenOf(server.pid), []);
  const own = (await childrenOf(process.pid)).find(({ pid }) => pid === server.pid);
  t.regex(own?.command ?? '', /--max-semi-space-size=32 \S+src\/main\.ts/);
  t.deepEqual(await server.end('SIGINT'), { code: 0, signal: null });
});

test('Standalone server - an invalid setting is exit code 1, a temporary failure is 75', async (t) => {
  const [nobody] = await freePorts(1);
  const shared = { OPERATOR_KEY: 'the-operator-of-this-test', DATABASE_URL: `postgres://x@127.0.0.1:${nobody}/x` };
  for (const [code, settings, line] of [
    [1, { GRPC_PORT: 'none' }, /^petstore: GRPC_PORT [^\n]+\n$/],
    [75, shared, /^[^\n]+\npetstore: [^\n]*ECONNREFUSED[^\n]*\n/],
  ] as const) {
    const server = run(t.context, settings);
    t.deepEqual(await server.ended, { code, signal: null }, server.errors);
    t.regex(server.errors, line);
  }
});

test('Mutual TLS - only a client with a certificate of the authority is served', async (t) => {
  await startWithTls(t.context);
  const known = await clientAs(t.context, 'client');
  t.is(await check(known), Health.SERVING);
  known.close();
  for (const name of ['stranger', undefined]) {
    const client = await clientAs(t.context, name);
    const error = await t.throwsAsync<ServiceError>(check(client), undefined, name);
    t.regex(error?.message ?? '', /UNAVAILABLE/, name);
    client.close();
  }
  const plain = new Client(`${HOST}:${t.context.port}`, insecure);
  await t.throwsAsync(check(plain));
  plain.close();
});

test('Mutual TLS - an unauthenticated client gets no byte of HTTP/2, and TLS 1.2 is not accepted', async (t) => {
  await startWithTls(t.context);
  const { certificates } = t.context;
  const bytes = await received(t.context, {});
  t.is(bytes, '', 'without a certificate');
  const [cert, key] = await Promise.all([certificates.read('client.pem'), certificates.read('client-key.pem')]);
  t.regex(await received(t.context, { cert, key, maxVersion: 'TLSv1.2' }), /alert protocol version/);
});

test('Mutual TLS - renewed files are used, open connections stay, and a half-renewed pair is ignored', async (t) => {
  const server = await startWithTls(t.context);
  const { certificates } = t.context;
  const open = await clientAs(t.context, 'client');
  t.is(await check(open), Health.SERVING);
  const serial = () => presentedSerial(t.context);
  const before = await serial();

  await certificates.issue('petstore-0', 'DNS:petstore-0');
  const renewed = new X509Certificate(await certificates.read('petstore-0.pem')).serialNumber;
  t.not(renewed, before);
  await until(async () => (await serial()) === renewed, 'the renewed certificate');
  t.regex(server.output, /loaded the renewed files/);

  await certificates.spoil('petstore-0-key.pem');
  await server.says(/The certificate from before stays in use/);
  t.is(await serial(), renewed);
  t.is(await check(open), Health.SERVING);
  open.close();
});

test('SIGTERM - readiness checks fail first, while calls are still served', async (t) => {
  const server = run(t.context, { EDGE_SECRET });
  await server.says(/"serving"/);
  const edge = new Client(`127.0.0.1:${t.context.port}`, insecure);
  const checkReadiness = () => check(edge, 'petstore.TakesCalls');
  t.is(await checkReadiness(), Health.SERVING);
  server.process.kill('SIGTERM');
  await until(async () => (await checkReadiness()) === Health.NOT_SERVING, 'NOT_SERVING');
  t.is(await check(edge), Health.SERVING, 'it still serves');
  t.is(await checkReadiness(), Health.NOT_SERVING);
  t.deepEqual(await server.ended, { code: 0, signal: null });
  edge.close();
});

/** What the server sends after a handshake, or the message of the error. */
async function received({ port }: Context, options: object): Promise<string> {
  const socket = connect({ host: HOST, port, rejectUnauthorized: false, ALPNProtocols: ['h2'], ...options });
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  return new Promise((resolve) => {
    socket.once('close', () => resolve(text));
    socket.once('error', ({ message }) => resolve(message.includes('certificate required') ? text : message));
  });
}

/** The serial number of the certificate that the server presents. */
async function presentedSerial({ certificates, port }: Context): Promise<string | undefined> {
  const [ca, cert, key] = await Promise.all(['ca.pem', 'client.pem', 'client-key.pem'].map(certificates.read));
  const options = { ca, cert, key, servername: 'petstore-0', ALPNProtocols: ['h2'] };
  const socket = connect({ host: HOST, port, ...options });
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const serial = socket.getPeerX509Certificate()?.serialNumber;
  socket.destroy();
  return serial;
}
