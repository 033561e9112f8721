/** What an open service shows to its user, and what it hides from everybody else. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism, networkInterfaces, userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { adminSocket, callAdmin } from '../../src/platform/launcher/envoy-admin.ts';
import { callFrom } from '../support/calls/callers.ts';
import { missing, sh } from '../support/machine/find-program.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { isFree } from '../support/scope.ts';
import { childrenOf, isRunning } from '../support/service/process.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { type Context, launch, launchForAll, refusedWith, test } from './launch.ts';

const onLinux = process.platform === 'linux' ? test.serial : test.serial.skip;
const withSockets = testUnless<Context>(missing('ss', 'iproute2')).serial;

const EDGE_SECRET = 'SECRET-of-the-edge';

/** A quote and a backslash in the path, and a umask that leaves new files open to all users. */
const shared = launchForAll(({ DATA_DIR }) => {
  const secrets = { EDGE_SECRET_FILE: `${DATA_DIR}.secret`, AWS_SECRET_ACCESS_KEY: 'SECRET' };
  writeFileSync(secrets.EDGE_SECRET_FILE, EDGE_SECRET);
  const NODE_OPTIONS = '--import=data:text/javascript,process.umask(0)';
  return { ...secrets, DATA_DIR: `${DATA_DIR}/Tom's "data" \\ $x`, NODE_OPTIONS, TZ: 'UTC' };
});

test.serial('Start - shows a curl command that works unchanged, and no key', async (t) => {
  const { launcher, curl, key } = shared;
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
  t.false(launcher.output.includes(key.slice(4)));
});

test.serial('Files - are private to their owner, whatever the umask', (t) => {
  const paths = ['', ...readdirSync(shared.folder, { recursive: true, encoding: 'utf8' })];
  const logs = ['server.log', 'envoy.log', 'access.log', 'audit.log'].map((name) => `logs/${name}`);
  for (const path of ['demo.key', 'operator.key', 'petstore.sqlite', 'petstore.sqlite-wal', 'envoy.yaml', ...logs])
    t.true(paths.includes(path), path);
  for (const path of paths) {
    const mode = statSync(`${shared.folder}/${path}`).mode & 0o7777;
    t.is(mode, path === '' || path === 'logs' ? 0o700 : 0o600, path);
  }
});

onLinux('Envoy - inherits none of the settings, and no command line shows a secret', async (t) => {
  const { launcher, key } = shared;
  const { server, envoy } = await launcher.pair();
  const environment = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  t.true(environment(server.pid).includes(`EDGE_SECRET=${EDGE_SECRET}`));
  const helpers = await childrenOf(envoy.pid);
  t.is(helpers.length, 1);
  for (const { pid } of [envoy, ...helpers]) {
    const variables = environment(pid);
    t.true(variables.includes('TZ=UTC'));
    t.false(variables.some((variable) => variable.includes('SECRET')));
    const names = variables.map((variable) => variable.replace(/=.*/s, '')).filter((name) => name !== 'TZ');
    for (const name of names) t.false(name in launcher.settings, name);
  }
  for (const { pid } of [launcher, server, envoy, ...helpers]) {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    for (const secret of ['SECRET', key]) t.false(commandLine.includes(secret), commandLine);
  }
});

/** What `ss` has of the sockets of these processes. */
async function socketsOf(kind: string, found: RegExp, ...pids: number[]): Promise<string[]> {
  const { stdout } = await sh('ss', ['-Hnp', kind]);
  const lines = stdout.split('\n').filter((line) => pids.some((pid) => line.includes(`pid=${pid},`)));
  return [...new Set(lines.flatMap((line) => found.exec(line)?.[1] ?? []))].sort();
}

withSockets('Network - server and Envoy listen on loopback only', async (t) => {
  const { launcher } = shared;
  const { server, envoy } = await launcher.pair();
  const { PORT, GRPC_PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  const own = [PORT, GRPC_PORT, ENVOY_ADMIN_PORT].map((port) => `127.0.0.1:${port}`);
  t.deepEqual(await socketsOf('-lt', /(\S+:\d+) /, server.pid, envoy.pid, launcher.pid), own.sort());
});

onLinux('Network - HOST and ENVOY_ADMIN_HOST open their ports to other machines, and no other port', async (t) => {
  const all = '0.0.0.0';
  const launcher = launch(t, { HOST: all, ENVOY_ADMIN_HOST: all, DEMO_ACCOUNT: 'no' });
  const { url, curl, key } = await launcher.opened();
  const { PORT, GRPC_PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  t.is(url, `http://127.0.0.1:${PORT}`);
  const host = '127.0.0.2'; // a listener on 127.0.0.1 does not have it
  t.deepEqual(await Promise.all([PORT, GRPC_PORT].map((port) => isFree(Number(port), host))), [false, true]);
  t.is((await fetch(`http://${host}:${ENVOY_ADMIN_PORT}/stats/prometheus`)).status, 200);
  t.is(curl, `curl -H "Authorization: Bearer <API_KEY>" ${url}/pets`, 'without a demo account');
  t.is(key, '');
  t.regex(launcher.output, /\nAccounts and keys are made with the petstore command: .*\n/);
});

const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
const testIPv6 = addresses.some(({ address }) => address === '::1') ? testUnless<Context>(noOpenssl) : test.skip;

testIPv6('Start - works on IPv6; the curl command also with TLS and the PROXY protocol', async (t) => {
  const certificates = await makeCertificates(t);
  const proxy = { PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: '::1' };
  const { curl, url } = await launch(t, { HOST: '::', ...certificates.publicTls('server'), ...proxy }).opened();
  const { PORT, DATA_DIR } = t.context.settings;
  t.is(url, `https://[::1]:${PORT}`);
  t.is(
    curl,
    `curl --insecure --haproxy-protocol -H "Authorization: Bearer $(cat '${DATA_DIR}/demo.key')" '${url}/pets'`,
  );
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
});

withSockets('Envoy - opens no Unix socket but its admin interface, which only its owner can open', async (t) => {
  const { launcher } = shared;
  const socket = adminSocket({ dataDir: shared.folder });
  const { envoy } = await launcher.pair();
  t.deepEqual(await socketsOf('-xa', / (\/.*) \d+ +\* \d+ /, envoy.pid), [socket]);
  t.notRegex(readFileSync(`/proc/${envoy.pid}/maps`, 'utf8'), /\/dev\/shm\//);
  const found = statSync(socket);
  t.deepEqual([found.isSocket(), found.mode & 0o777, found.uid], [true, 0o600, userInfo().uid]);
});

/** Sends a request to the statistics port, with any Host. */
function send(path: string, method = 'GET', host = '127.0.0.1') {
  const port = Number(shared.launcher.settings.ENVOY_ADMIN_PORT);
  return callFrom('127.0.0.1', { port }, 'HTTP/1.1', { method, path, headers: { host } });
}

const LIVE = '/stats?filter=^server.live$';

test.serial('Statistics - can be read on the port, under every loopback name', async (t) => {
  const { status, text } = await send('/stats/prometheus');
  t.is(status, 200);
  t.regex(text, /^envoy_cluster_membership_healthy\{envoy_cluster_name="petstore"\} 1$/m);
  for (const host of ['127.0.0.1', 'localhost', 'localhost:1', 'LOCALHOST:9901', '[::1]', '[::1]:9901']) {
    t.like(await send(LIVE, 'GET', host), { status: 200, text: 'server.live: 1\n' });
  }
});

const CHANGING = ['/quitquitquit', '/logging?level=trace', '/drain_listeners', '/healthcheck/fail', '/reset_counters'];
const PRIVATE = ['/', '/config_dump', '/stats/', '//stats', '/stats/../quitquitquit', '/stats%2fprometheus'];
/** Envoy would match them: for seconds, on the thread that says whether it is alive. */
const FILTERS = ['([!-~]?){1000}', '%28.%3F%29%7B1000%7D', 'a|b', 'a*', '[a]', 'a+', 'a\\d'];
const HOSTS = ['evil.example', 'evil.example:9901', '127.0.0.1.evil.example', 'localhost.evil.example', '0.0.0.0'];
const REFUSED: readonly Readonly<Parameters<typeof send>>[] = [
  ...CHANGING.flatMap((path) => ['POST', 'GET'].map((method) => [path, method] as const)),
  ...PRIVATE.map((path) => [path] as const),
  ...FILTERS.map((filter) => [`/stats?filter=${filter}`] as const),
  ...['POST', 'PUT', 'HEAD'].map((method) => ['/stats', method] as const),
  ...HOSTS.map((host) => ['/stats', 'GET', host] as const),
];

test.serial('Statistics - the port serves nothing else: other requests are refused and change nothing', async (t) => {
  for (const sent of REFUSED) {
    const { status, text } = await send(...sent);
    t.regex(`${status} ${text}`, /^40[0345] $/, sent.join());
  }
  const info = JSON.parse(await callAdmin({ dataDir: shared.folder }, 'GET', '/server_info'));
  const threads = Math.min(2, availableParallelism());
  t.like(info, { state: 'LIVE', command_line_options: { concurrency: threads } });
  t.true(isRunning((await shared.launcher.pair()).envoy));
  t.is((await fetch(`${shared.url}/healthz`)).status, 200);
  t.notRegex(readFileSync(`${shared.folder}/logs/envoy.log`, 'utf8'), /\]\[(trace|debug|info)\]/);
});

test.serial('Statistics - of more than 50 requests at once, and 10 a second, Envoy refuses the rest', async (t) => {
  await delay(5_000);
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(LIVE)));
  const refused = answers.filter(({ status }) => status === 429).length;
  t.true(refused > 0 && refused <= 50, `${refused}`);
  await until(async () => (await send(LIVE)).status === 200, 'an answer');
});

test.serial('Statistics - the port has at most 512 connections', async (t) => {
  const port = Number(shared.launcher.settings.ENVOY_ADMIN_PORT);
  const refused = () => callAdmin({ dataDir: shared.folder }, 'GET', '/stats?filter=limited_connections');
  const before = await refused();
  const sockets = Array.from({ length: 513 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  t.true(await until(async () => (await refused()) !== before, 'a refused connection'));
  for (const socket of sockets) socket.destroy();
});

test.serial('A second service - is refused on any ports, and the first one runs on', async (t) => {
  const { launcher, folder, url } = shared;
  const config = readFileSync(`${folder}/envoy.yaml`, 'utf8');
  const wayOut = `stop that one, whose process ${folder}/service.pid names, or set DATA_DIR to another folder`;
  const line = `${folder} is in use by another service: ${wayOut}`;
  await refusedWith(t, launch(t, { DATA_DIR: folder }), line);
  await refusedWith(t, launch(t, launcher.settings), line);
  const elsewhere = { ...launcher.settings, DATA_DIR: t.context.settings.DATA_DIR ?? '' };
  await refusedWith(t, launch(t, elsewhere), /^port \d+ is busy: stop what listens there, or set GRPC_PORT to another/);
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.is(readFileSync(`${folder}/envoy.yaml`, 'utf8'), config);
  t.is(readFileSync(`${folder}/service.pid`, 'utf8'), `${launcher.pid}\n`);
});
