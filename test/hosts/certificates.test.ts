/** Certificates of edge and servers on separate hosts: warnings before they end, and a change of their authority. */
import { copyFile, mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { startLoad, untilMore } from '../support/calls/load.ts';
import { sh } from '../support/machine/find-program.ts';
import { scrape, statistic, sumOf } from '../support/service/exposition.ts';
import type { TestProcess } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { type Context, get, run, type Test, test } from './standalone.ts';

const SCRIPT = new URL('../../deploy/make-certificates.sh', import.meta.url).pathname;
const DAYS_LEFT = 'petstore_certificate_days_left';
const HOSTS = ['server', 'edge'] as const;
type Host = (typeof HOSTS)[number];

/** Runs the operator's script in the folder where the authority is. `days` is how long new certificates are valid. */
async function make({ context: { folder } }: Test, args: readonly string[], days = 397): Promise<void> {
  const env = { ...process.env, DAYS: String(days) };
  const [first = '', ...others] = args;
  const where = join(folder, 'authority');
  await sh(SCRIPT, first.startsWith('--') ? [first, where] : [where, first, ...others], { env });
}

/** Copies what the page says to the folder of a host, key first. */
async function copyTo(t: Test, host: Host, files = ['ca.pem', `${host}.key`, `${host}.pem`]) {
  const { folder } = t.context;
  await mkdir(join(folder, `${host}-tls`), { recursive: true });
  for (const file of files) {
    await copyFile(join(folder, 'authority', file), join(folder, `${host}-tls`, `${file}.new`));
    await rename(join(folder, `${host}-tls`, `${file}.new`), join(folder, `${host}-tls`, file));
  }
}

function start(t: Test, host: Host): TestProcess {
  const { folder, ports } = t.context;
  return run(t, host, {
    SERVERS: `localhost:${ports.server}`,
    METRICS_PORT: String(ports.metrics),
    INTERNAL_TLS_CA: join(folder, `${host}-tls/ca.pem`),
    INTERNAL_TLS_CERT: join(folder, `${host}-tls/${host}.pem`),
    INTERNAL_TLS_KEY: join(folder, `${host}-tls/${host}.key`),
  });
}

test('An authority - that ends within 14 days is warned of, also as the second in the file', async (t) => {
  const { ports, folder } = t.context;
  await make(t, ['localhost'], 13);
  const old = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '5', '-subj', '/CN=old', '-keyout', 'old.key'];
  await sh('openssl', [...old, '-out', 'old.pem'], { cwd: folder });
  await sh('sh', ['-c', 'cat old.pem >>authority/ca.pem'], { cwd: folder });
  for (const host of HOSTS) await copyTo(t, host);
  const [server, edge] = HOSTS.map((host) => start(t, host)) as [TestProcess, TestProcess];
  for (const one of [server, edge]) {
    for (const setting of ['CERT', 'CA']) {
      await one.says(new RegExp(`INTERNAL_TLS_${setting} is valid until [^\\n]* GMT only: renew it\\.`));
    }
  }
  // The warnings come before the ports are open.
  const ofEnvoy = () => statistic(ports.admin, 'server.days_until_first_cert_expiring').catch(() => Number.NaN);
  await until(async () => [4, 5].includes(await ofEnvoy()), "Envoy's days");
  await until(() => scrape(ports.metrics).catch(() => undefined), 'the metrics');
  const left = async (setting: string) => sumOf(await scrape(ports.metrics), DAYS_LEFT, { setting }) ?? Number.NaN;
  t.true(Math.abs((await left('INTERNAL_TLS_CERT')) - 13) < 0.1);
  t.true(Math.abs((await left('INTERNAL_TLS_CA')) - 5) < 0.1);
});

test('A change of authority - by the steps of the page, one host at a time, loses no request', async (t) => {
  await make(t, ['localhost']);
  for (const host of HOSTS) await copyTo(t, host);
  const [server, edge] = HOSTS.map((host) => start(t, host)) as [TestProcess, TestProcess];
  await until(async () => (await get(t, '/healthz')) === 200, 'a healthy edge');
  const load = startLoad(2, async () => String(await get(t, '/healthz')));
  const old = { edge: await identityOfEdge(t.context), issuer: await handshake(t.context) };
  const loaded = async (count: number) => {
    await server.says(new RegExp(`(loaded the renewed files[\\s\\S]*){${count}}`));
    await edge.says(new RegExp(`(renewed certificate of INTERNAL_TLS[\\s\\S]*){${count}}`));
    await untilMore(load, 20);
  };

  await make(t, ['--new-authority']);
  for (const host of HOSTS) await copyTo(t, host, ['ca.pem']);
  await loaded(1);
  t.is(await handshake(t.context), old.issuer);

  await make(t, ['localhost']);
  await copyTo(t, 'edge');
  await edge.says(/renewed certificate of INTERNAL_TLS_CERT/);
  t.is(await handshake(t.context), old.issuer, 'a new certificate of the edge, an old one of the server');
  await copyTo(t, 'server');
  await loaded(2);
  t.not(await handshake(t.context, old.edge), old.issuer, 'a new certificate of the server, an old one of an edge');

  await make(t, ['--only-authority']);
  for (const host of HOSTS) await copyTo(t, host, ['ca.pem']);
  await loaded(3);
  await load.stop();
  t.deepEqual([...load.answers.keys()], ['200']);
  t.not(await handshake(t.context), old.issuer);
  await t.throwsAsync(handshake(t.context, old.edge), { message: /closed|unknown ca/ });

  // Envoy's own new connection, as after the restart that the page asks for.
  await server.end('SIGTERM');
  start(t, 'server');
  await until(async () => (await get(t, '/healthz')) === 200, 'the restarted server');
});

async function identityOfEdge({ folder }: Context) {
  const read = (name: string) => readFile(join(folder, 'edge-tls', name));
  return { cert: await read('edge.pem'), key: await read('edge.key') };
}

/** Connects as an edge, and waits for the server's first bytes. Resolves with who signed the server's certificate. */
async function handshake(context: Context, identity?: Awaited<ReturnType<typeof identityOfEdge>>) {
  const ca = await readFile(join(context.folder, 'edge-tls/ca.pem'));
  const own = identity ?? (await identityOfEdge(context));
  const socket = connect({ host: 'localhost', port: context.ports.server, ca, ...own, ALPNProtocols: ['h2'] });
  await new Promise((resolve, reject) => {
    socket.once('data', resolve).once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  const presented = socket.getPeerX509Certificate();
  socket.destroy();
  return presented?.issuer;
}
