/**
 * Two edges and three servers, each at its own address, with mutual TLS between them, one PostgreSQL and one Redis.
 * The servers restart under load.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { callAdmin } from '../../src/platform/launcher/envoy-admin.ts';
import { startLoad, untilMore } from '../support/calls/load.ts';
import { RestClient } from '../support/calls/rest-client.ts';
import { noNamespaces } from '../support/machine/namespaces.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, type Scope, temporaryFolder } from '../support/scope.ts';
import { type Settings, TestProcess, UNLIMITED } from '../support/service/process.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

const GRPC_PORT = 50_051;
const PORT = 8_080;

const SERVERS = ['petstore-0', 'petstore-1', 'petstore-2'] as const;
const EDGES = ['edge-0', 'edge-1'] as const;
type Name = (typeof SERVERS)[number] | (typeof EDGES)[number];
const addressOf = ({ network }: Context, name: Name) => network.address(10 + [...SERVERS, ...EDGES].indexOf(name));

const [A, AAAA] = [1, 28] as const;

/**
 * Addresses of the loopback network, and programs whose /etc/hosts and DNS server (RFC 1035) are the test's own. It
 * needs root, for the mounts and for port 53. Each name also has an IPv6 address (RFC 3596), which nobody can reach.
 */
async function startNetwork(t: Scope) {
  const prefix = `127.${randomInt(100, 250)}.${randomInt(1, 250)}`;
  const address = (number: number) => `${prefix}.${number}`;
  const network = {
    address,
    /** The current addresses of names in the DNS server. */
    names: new Map<string, readonly string[]>(),
    /** Whether the DNS server fails with SERVFAIL. */
    isDnsFailing: false,
    /** A command that executes the one after it with `lines` in /etc/hosts. The DNS server has all other names. */
    withNames(folder: string, lines: readonly string[]): readonly string[] {
      writeFileSync(`${folder}/hosts`, ['127.0.0.1 localhost', ...lines, ''].join('\n'));
      writeFileSync(`${folder}/resolv.conf`, `nameserver ${address(1)}\n`);
      const mounts = ['hosts', 'resolv.conf'].map((file) => `mount --bind ${folder}/${file} /etc/${file}`);
      return ['unshare', '--mount', 'sh', '-euc', `${mounts.join('; ')}; exec "$@"`, 'sh'];
    },
  };
  const respond = (message: Buffer): Buffer => {
    const end = message.indexOf(0, 12);
    const name = message
      .toString('latin1', 13, end)
      .toLowerCase()
      .replaceAll(/[^\w-]/g, '.'); // dots for lengths
    const type = message.readUInt16BE(end + 1);
    const known = network.isDnsFailing ? [] : (network.names.get(name) ?? []);
    const addresses = { [A]: known, [AAAA]: known.length === 0 ? [] : ['fd00::1'] }[type] ?? [];
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(network.isDnsFailing ? 0x8582 : 0x8580, 2); // an authoritative response, or SERVFAIL
    for (const [at, count] of [1, addresses.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + 2 * at);
    const answers = addresses.map((one) => {
      const bytes = type === A ? one.split('.').map(Number) : [0xfd, ...Array(14).fill(0), 1];
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, bytes.length, ...bytes]);
    });
    return Buffer.concat([header, message.subarray(12, end + 5), ...answers]);
  };
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  socket.on('message', (query, from) => socket.send(respond(query), from.port, from.address));
  await new Promise<void>((resolve) => socket.bind(53, address(1), resolve));
  return network;
}

const test = sharing(noNamespaces ?? sharedMissing ?? noOpenssl, async (t) => {
  const context = await open(t);
  const { certificates, folder } = context;
  // petstore-0 is in the edges' /etc/hosts; the others have one address in DNS now and two later.
  nameOthers(context, 'petstore-1');
  await certificates.issue('petstore-0', 'DNS:petstore-0');
  for (const name of SERVERS.slice(1)) await certificates.issue(name, 'DNS:petstore-others');
  for (const name of EDGES) await certificates.issue(name, `DNS:${name}`);
  for (const name of SERVERS) await startServer(context, name);
  for (const name of EDGES) await startEdge(context, name);
  return { ...context, key: (await readFile(demoKeyFile(`${folder}/petstore-0`), 'utf8')).trim() };
});

type Context = Awaited<ReturnType<typeof open>>;

async function open(t: Scope) {
  const folder = temporaryFolder(t);
  const certificates = await makeCertificates(t);
  const databases = await startShared(t, ['fsync=off']);
  const network = await startNetwork(t);
  const processes = new Map<Name, TestProcess>();
  t.teardown(() => Promise.all([...processes.values()].map((one) => one.end('SIGKILL'))));
  return { folder, certificates, network, shared: await databases.settings(), processes };
}

/** The addresses of the DNS name of all servers but `petstore-0`. */
function nameOthers(context: Context, ...others: readonly Name[]): void {
  const addresses = others.map((name) => addressOf(context, name));
  context.network.names.set('petstore-others', addresses);
}

async function startServer(context: Context, name: Name): Promise<void> {
  const DEMO_ACCOUNT = name === 'petstore-0' ? 'yes' : 'no';
  const place = { GRPC_HOST: addressOf(context, name), GRPC_PORT: String(GRPC_PORT) };
  const own = { ...context.shared, ...place, OPERATOR_KEY: 'the-operator-of-these-hosts', DEMO_ACCOUNT };
  await run(context, name, 'src/main.ts', own).says(/"serving"/);
}

async function startEdge(context: Context, name: Name): Promise<void> {
  const SERVERS = `petstore-0:${GRPC_PORT},petstore-others:${GRPC_PORT}`;
  const ports = { PORT: String(PORT), ENVOY_ADMIN_PORT: String((await freePorts(1))[0]) };
  const names = context.network.withNames(context.folder, [`${addressOf(context, 'petstore-0')} petstore-0`]);
  const own = { HOST: addressOf(context, name), ...ports, SERVERS };
  await run(context, name, 'src/platform/launcher/edge-main.ts', own, names).says(/The edge is open/);
}

function run(context: Context, name: Name, file: string, own: Settings, prefix?: readonly string[]): TestProcess {
  const { processes, certificates, folder } = context;
  const settings = { ...UNLIMITED, DATA_DIR: `${folder}/${name}`, ...certificates.internalTls(name), ...own };
  const started = new TestProcess(file, settings, undefined, prefix);
  processes.set(name, started);
  return started;
}

const restOf = ({ key, ...context }: Context & { readonly key: string }, edge: Name) =>
  new RestClient(`http://${addressOf(context, edge)}:${PORT}`, key);

/** Reads and writes through both edges. Counts results by status, and errors by status and body. */
function startCallers(context: Context & { readonly key: string }) {
  const edges = EDGES.map((edge) => restOf(context, edge));
  return startLoad(8, async (count) => {
    const rest = edges[count % 2];
    const write = () => rest?.post('/categories', { name: `Category ${count}` });
    const response = await (count % 4 === 0 ? write() : rest?.get('/categories?limit=1'));
    return response && response.status < 300 ? `${response.status}` : `${response?.status} ${response?.text}`;
  });
}

const admin = ({ folder }: Context, edge: Name, path: string) =>
  callAdmin({ dataDir: `${folder}/${edge}` }, 'GET', path);

/** A number of an edge about its servers. */
async function stat(context: Context, edge: Name, name: string): Promise<number> {
  const line = await admin(context, edge, `/stats?filter=^cluster.petstore.${name}$`);
  return Number(/: (\d+)/.exec(line)?.[1]);
}

async function untilHealthy(context: Context, count: number): Promise<void> {
  for (const edge of EDGES) {
    const isSo = async () => (await stat(context, edge, 'membership_healthy')) === count;
    await until(isSo, `${edge} with ${count} servers`, 60_000);
  }
}

test.serial('Names - are found in /etc/hosts and DNS, IPv4 before IPv6; a new address adds a server', async (t) => {
  await untilHealthy(t.context, 2);
  nameOthers(t.context, 'petstore-1', 'petstore-2');
  await untilHealthy(t.context, 3);
  t.is(await stat(t.context, 'edge-0', 'membership_total'), 3);
  t.is((await restOf(t.context, 'edge-0').get('/healthz')).status, 200);
});

test.serial('DNS - an outage changes nothing, and a removed address is used while its server is healthy', async (t) => {
  const { network } = t.context;
  const seen = (name: string) => stat(t.context, 'edge-0', name);
  const untilTwoMore = async (name: string) => {
    const goal = (await seen(name)) + 2;
    await until(async () => (await seen(name)) >= goal, `two more: ${name}`);
  };
  network.isDnsFailing = true;
  await untilTwoMore('update_failure');
  t.is(await seen('membership_healthy'), 3);
  network.isDnsFailing = false;
  nameOthers(t.context, 'petstore-1');
  await untilTwoMore('update_success');
  t.is(await seen('membership_healthy'), 3);
  t.is((await restOf(t.context, 'edge-0').get('/healthz')).status, 200);
  nameOthers(t.context, 'petstore-1', 'petstore-2');
});

test.serial('Concurrent calls - an edge allows 512 for each server that it has found', async (t) => {
  await untilHealthy(t.context, 3);
  const isAllowed = async () =>
    (await admin(t.context, 'edge-0', '/clusters')).includes(`::max_requests::${3 * 512}\n`);
  t.true(await until(isAllowed, 'the limit'));
});

test.serial('Rolling restart - of all servers, one after the other, loses no request', async (t) => {
  const { processes } = t.context;
  const load = startCallers(t.context);
  await untilMore(load, 100);
  for (const name of SERVERS) {
    t.deepEqual(await processes.get(name)?.end('SIGTERM'), { code: 0, signal: null }, name);
    await untilMore(load, 50);
    await startServer(t.context, name);
    await untilHealthy(t.context, 3);
    await untilMore(load, 50);
  }
  await load.stop();
  t.deepEqual([...load.answers.keys()].toSorted(), ['200', '201'], JSON.stringify([...load.answers]));
});
