/** Certificates of edge and servers on separate hosts: warnings before they end, and a change of their authority. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { scrape, sumOf } from '../support/exposition.ts';
import { startLoad, untilMore } from '../support/load.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { noOpenssl } from '../support/tls.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { until } from '../support/until.ts';

const SCRIPT = new URL('../../deploy/make-certificates.sh', import.meta.url).pathname;
const DAYS_LEFT = 'petstore_certificate_days_left';

interface Context {
  readonly folder: string;
  readonly ports: { readonly edge: number; readonly server: number; readonly admin: number; readonly metrics: number };
  readonly processes: TestProcess[];
  readonly remove: () => Promise<void>;
}

const test = testUnless<Context>(noOpenssl);

test.beforeEach(async (t) => {
  const { path: folder, remove } = await createDataDir();
  const [edge = 0, server = 0, admin = 0, metrics = 0] = await freePorts(4);
  t.context = { folder, ports: { edge, server, admin, metrics }, processes: [], remove };
});
test.afterEach.always(async ({ context: { processes, remove } }) => {
  for (const one of processes) await one.end('SIGKILL');
  await remove();
});

/** Runs the operator's script in the folder where the authority is. `days` is how long new certificates are valid. */
async function make({ folder }: Context, args: readonly string[], days = 397): Promise<void> {
  const env = { ...process.env, DAYS: String(days) };
  const [first = '', ...others] = args;
  const where = join(folder, 'authority');
  await promisify(execFile)(SCRIPT, first.startsWith('--') ? [first, where] : [where, first, ...others], { env });
}

/** Copies what the page says to the folder of a host, key first. */
async function copyTo({ folder }: Context, host: 'edge' | 'server', files = ['ca.pem', `${host}.key`, `${host}.pem`]) {
  await mkdir(join(folder, host), { recursive: true });
  for (const file of files) {
    await copyFile(join(folder, 'authority', file), join(folder, host, `${file}.new`));
    await rename(join(folder, host, `${file}.new`), join(folder, host, file));
  }
}

function run({ folder, ports, processes }: Context, host: 'edge' | 'server'): TestProcess {
  const started = new TestProcess(`src/launcher/${host}-main.ts`, {
    ...UNLIMITED,
    DATA_DIR: join(folder, `${host}-data`),
    PORT: String(ports.edge),
    GRPC_PORT: String(ports.server),
    SERVERS: `localhost:${ports.server}`,
    ENVOY_ADMIN_PORT: String(ports.admin),
    METRICS_PORT: String(ports.metrics),
    INTERNAL_TLS_CA: join(folder, host, 'ca.pem'),
    INTERNAL_TLS_CERT: join(folder, host, `${host}.pem`),
    INTERNAL_TLS_KEY: join(folder, host, `${host}.key`),
  });
  processes.push(started);
  return started;
}

function healthz({ ports }: Context): Promise<string> {
  const headers = { connection: 'close' };
  return fetch(`http://127.0.0.1:${ports.edge}/healthz`, { headers }).then(({ status }) => String(status));
}

async function daysOfEnvoy({ ports }: Context): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ports.admin}/stats`)).text();
  return Number(/^server\.days_until_first_cert_expiring: (\d+)$/m.exec(text)?.[1]);
}

test('A server - warns 14 days before its certificate ends, and exports the days left', async (t) => {
  const { ports } = t.context;
  await make(t.context, ['localhost'], 13);
  await copyTo(t.context, 'server');
  const server = run(t.context, 'server');
  await server.says(/"level":40[^\n]*INTERNAL_TLS_CERT is valid until [^\n]* GMT only: renew it\./);
  await server.says(/"serving"/);
  const left = async (setting: string) => sumOf(await scrape(ports.metrics), DAYS_LEFT, { setting }) ?? Number.NaN;
  t.true(Math.abs((await left('INTERNAL_TLS_CERT')) - 13) < 0.1);
  t.true(Math.abs((await left('INTERNAL_TLS_CA')) - 3650) < 0.1);

  await make(t.context, ['localhost'], 30);
  await copyTo(t.context, 'server');
  await until(async () => (await left('INTERNAL_TLS_CERT')) > 29, 'the days of the renewed certificate');
  await make(t.context, ['localhost'], 12);
  await copyTo(t.context, 'server');
  await server.says(/(is valid until[\s\S]*){2}/);
  t.is(server.output.match(/is valid until/g)?.length, 2, 'once for each, and not of the authority');
});

test('An edge - warns 14 days before an internal certificate ends, and Envoy exports the days left', async (t) => {
  await make(t.context, ['localhost'], 13);
  await copyTo(t.context, 'edge');
  const edge = run(t.context, 'edge');
  await edge.says(/The edge is open/);
  await edge.says(/INTERNAL_TLS_CERT is valid until [^\n]* GMT only: renew it\.\n/);
  t.false(edge.output.includes('INTERNAL_TLS_CA is valid'));
  await until(async () => [12, 13].includes(await daysOfEnvoy(t.context)), "Envoy's days");
});

test('An authority - that ends within 14 days is warned of, also as the second in the file', async (t) => {
  await make(t.context, ['localhost']);
  const { folder } = t.context;
  const old = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '5', '-subj', '/CN=old', '-keyout', 'old.key'];
  await promisify(execFile)('openssl', [...old, '-out', 'old.pem'], { cwd: folder });
  await promisify(execFile)('sh', ['-c', 'cat old.pem >>authority/ca.pem'], { cwd: folder });
  for (const host of ['server', 'edge'] as const) {
    await copyTo(t.context, host);
    await run(t.context, host).says(/INTERNAL_TLS_CA is valid until [^\n]* GMT only: renew it\./);
  }
  const left = sumOf(await scrape(t.context.ports.metrics), DAYS_LEFT, { setting: 'INTERNAL_TLS_CA' }) ?? Number.NaN;
  t.true(Math.abs(left - 5) < 0.1);
});

test('A change of authority - by the steps of the page, one host at a time, loses no request', async (t) => {
  const hosts = ['server', 'edge'] as const;
  await make(t.context, ['localhost']);
  for (const host of hosts) await copyTo(t.context, host);
  const [server, edge] = [run(t.context, 'server'), run(t.context, 'edge')];
  await until(async () => (await healthz(t.context).catch(() => '')) === '200', 'a healthy edge');
  const load = startLoad(2, () => healthz(t.context));
  const old = { edge: await identityOfEdge(t.context), issuer: await handshake(t.context) };
  const loaded = async (count: number) => {
    await server.says(new RegExp(`(loaded the renewed files[\\s\\S]*){${count}}`));
    await edge.says(new RegExp(`(renewed certificate of INTERNAL_TLS[\\s\\S]*){${count}}`));
    await untilMore(load, 20);
  };

  await make(t.context, ['--new-authority']);
  for (const host of hosts) await copyTo(t.context, host, ['ca.pem']);
  await loaded(1);
  t.is(await handshake(t.context), old.issuer);

  await make(t.context, ['localhost']);
  await copyTo(t.context, 'edge');
  await edge.says(/renewed certificate of INTERNAL_TLS_CERT/);
  t.is(await handshake(t.context), old.issuer, 'a new certificate of the edge, an old one of the server');
  await copyTo(t.context, 'server');
  await loaded(2);
  t.not(await handshake(t.context, old.edge), old.issuer, 'a new certificate of the server, an old one of an edge');

  await make(t.context, ['--only-authority']);
  for (const host of hosts) await copyTo(t.context, host, ['ca.pem']);
  await loaded(3);
  await load.stop();
  t.deepEqual([...load.answers.keys()], ['200']);
  t.not(await handshake(t.context), old.issuer);
  await t.throwsAsync(handshake(t.context, old.edge), { message: /closed|unknown ca/ });

  // Envoy's own new connection, as after the restart that the page asks for.
  await server.end('SIGTERM');
  run(t.context, 'server');
  await until(async () => (await healthz(t.context)) === '200', 'the restarted server');
});

async function identityOfEdge({ folder }: Context) {
  const [cert, key] = await Promise.all(['edge.pem', 'edge.key'].map((file) => readFile(join(folder, 'edge', file))));
  return { cert, key };
}

/** Connects as an edge, and waits for the server's first bytes. Resolves with who signed the server's certificate. */
async function handshake(
  context: Context,
  identity?: Awaited<ReturnType<typeof identityOfEdge>>,
): Promise<string | undefined> {
  const { folder, ports } = context;
  const ca = await readFile(join(folder, 'edge/ca.pem'));
  const options = {
    host: 'localhost',
    port: ports.server,
    ca,
    ...(identity ?? (await identityOfEdge(context))),
    ALPNProtocols: ['h2'],
  };
  const socket = connect(options);
  await new Promise((resolve, reject) => {
    socket.once('data', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  const presented = socket.getPeerX509Certificate();
  socket.destroy();
  return presented?.issuer;
}
