/** Only its owner can open Envoy's admin interface. Others can read the statistics. */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readConfig } from '../../src/config/config.ts';
import { adminSocket, EnvoyAdmin } from '../../src/launcher/envoy-admin.ts';
import { isRunning, type Launcher } from '../support/launcher.ts';
import { until } from '../support/until.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

interface StatisticsResponse {
  readonly status: number;
  readonly body: string;
}

interface StatisticsRequest {
  /** Default: GET. */
  readonly method?: string;
  readonly path: string;
  /** The Host header. Default: the address of the port. */
  readonly host?: string;
}

/** Sends a request to the statistics port, with a Host that `fetch` would not send. */
function send({ settings }: Launcher, { method = 'GET', path, host }: StatisticsRequest): Promise<StatisticsResponse> {
  const headers = host === undefined ? {} : { host };
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port: Number(settings.ENVOY_ADMIN_PORT), method, path, headers, agent: false };
    request(target, async (response) => resolve({ status: response.statusCode ?? 0, body: await text(response) }))
      .once('error', reject)
      .end();
  });
}

async function opened(t: Test): Promise<{ launcher: Launcher; admin: EnvoyAdmin }> {
  const launcher = launch(t);
  await launcher.opened();
  return { launcher, admin: new EnvoyAdmin(readConfig(launcher.settings)) };
}

const timeout = () => AbortSignal.timeout(10_000);

test('Admin interface - is a socket that only its owner can open', async (t) => {
  const { launcher, admin } = await opened(t);
  const found = statSync(adminSocket(readConfig(launcher.settings)));
  t.true(found.isSocket());
  t.is(found.mode & 0o777, 0o600);
  t.is(found.uid, userInfo().uid);
  t.is(JSON.parse(await admin.get('/server_info', timeout())).state, 'LIVE');
});

test('Statistics - can be read on the port, under every loopback name', async (t) => {
  const { launcher } = await opened(t);
  const { status, body } = await send(launcher, { path: '/stats/prometheus' });
  t.is(status, 200);
  t.regex(body, /^envoy_cluster_membership_healthy\{envoy_cluster_name="petstore"\} 1$/m);
  for (const host of ['127.0.0.1', 'localhost', 'localhost:1', 'LOCALHOST:9901', '[::1]', '[::1]:9901']) {
    t.deepEqual(await send(launcher, { path: '/stats?filter=^server.live$', host }), {
      status: 200,
      body: 'server.live: 1\n',
    });
  }
});

test('Statistics - the port serves nothing else: other requests are refused and change nothing', async (t) => {
  const { launcher, admin } = await opened(t);
  const { envoy } = await launcher.pair();
  const live = { method: 'GET', path: '/stats' };
  const refused: StatisticsRequest[] = [
    ...['/quitquitquit', '/logging?level=trace', '/drain_listeners', '/healthcheck/fail', '/reset_counters'].flatMap(
      (path) => ['POST', 'GET', 'PUT'].map((method) => ({ method, path })),
    ),
    ...['/', '/config_dump', '/clusters', '/server_info', '/memory', '/certs', '/listeners', '/help', '/ready'].map(
      (path) => ({ path }),
    ),
    ...['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE'].map((method) => ({ ...live, method })),
    { method: 'POST', path: '/stats/prometheus' },
    ...[
      '/stats/',
      '//stats',
      '/stats/../quitquitquit',
      '/stats/%2e%2e/config_dump',
      '/stats%2fprometheus',
      '/STATS',
    ].map((path) => ({ path })),
    ...['evil.example', 'evil.example:9901', '127.0.0.1.evil.example', 'localhost.evil.example', '0.0.0.0', 'x'].map(
      (host) => ({ ...live, host }),
    ),
  ];
  for (const sent of refused) {
    const { status, body } = await send(launcher, sent);
    t.regex(String(status), /^40[0345]$/, JSON.stringify(sent));
    t.is(body, '', JSON.stringify(sent));
  }
  t.is(JSON.parse(await admin.get('/server_info', timeout())).state, 'LIVE');
  t.true(isRunning(envoy));
  t.is((await fetch(`http://127.0.0.1:${launcher.settings.PORT}/healthz`)).status, 200);
  const logs = join(launcher.settings.DATA_DIR ?? '', 'logs/envoy.log');
  t.notRegex(readFileSync(logs, 'utf8'), /\]\[(trace|debug|info)\]/);
});

test('Statistics - are available again soon after many idle connections, most of which are closed', async (t) => {
  const { launcher } = await opened(t);
  const sockets = Array.from({ length: 40 }, () => connect(Number(launcher.settings.ENVOY_ADMIN_PORT), '127.0.0.1'));
  let closed = 0;
  for (const socket of sockets) {
    socket
      .on('error', () => undefined)
      .on('close', () => {
        closed += 1;
      });
  }
  await until(() => closed >= 40 - 16, 'the close of the connections beyond 16');
  t.true(closed < 40);
  const path = '/stats?filter=^server.live$';
  await until(
    () =>
      send(launcher, { path }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    'statistics',
  );
  for (const socket of sockets) socket.destroy();
});

(process.platform === 'linux' ? test : test.skip)(
  'Envoy - opens no other Unix socket and no shared memory',
  async (t) => {
    const { launcher } = await opened(t);
    const { envoy } = await launcher.pair();
    const targets = readdirSync(`/proc/${envoy.pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${envoy.pid}/fd/${fd}`)];
      } catch {
        return []; // it was closed meanwhile
      }
    });
    const inodes = new Set(targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []));
    const unix = readFileSync('/proc/net/unix', 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const named = unix.flatMap(([, , , , , , inode = '', ...path]) =>
      inodes.has(inode) && path.length > 0 ? [path.join(' ')] : [],
    );
    t.deepEqual([...new Set(named)], [adminSocket(readConfig(launcher.settings))]);
    t.notRegex(readFileSync(`/proc/${envoy.pid}/maps`, 'utf8'), /\/dev\/shm\//);
  },
);

test('Start - replaces the admin socket that a kill -9 left behind', async (t) => {
  const first = launch(t);
  await first.opened();
  const { envoy } = await first.pair();
  await first.end('SIGKILL');
  await until(() => !isRunning(envoy), 'the end of Envoy');
  t.true(statSync(adminSocket(readConfig(first.settings))).isSocket());
  const again = launch(t);
  await again.opened();
  t.deepEqual(await again.end('SIGTERM'), { code: 0, signal: null });
});

test('Start - reports a data folder whose path is too long for a socket', async (t) => {
  const folder = `${t.context.settings.DATA_DIR}/${'x'.repeat(100)}`;
  const path = `${folder}/envoy-admin.sock`;
  const tooLong = `${path} is too long for the path of a socket, ${path.length} bytes of at most 103`;
  const line = `${tooLong}: set DATA_DIR to a folder with a shorter path`;
  await refusedWith(t, launch(t, { DATA_DIR: folder }), line);
});

test('Start - works in a data folder with the longest possible path', async (t) => {
  const base = `${t.context.settings.DATA_DIR}/`;
  const folder = base + 'x'.repeat(103 - base.length - '/envoy-admin.sock'.length);
  await launch(t, { DATA_DIR: folder }).opened();
  t.pass();
});
