/** The addresses on which the service is reachable: by default only loopback. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { launch, test } from './launch.ts';

const LISTENING = '0A';
/** 127.0.0.1 and ::1 as /proc/net/tcp and tcp6 write them. */
const LOOPBACK = new Set(['0100007F', '00000000000000000000000001000000']);

/** The ports that a process listens on, each with the address as the kernel writes it. */
function listening(pid: number): { readonly address: string; readonly port: number }[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // it was closed meanwhile
      }
    }),
  );
  return ['tcp', 'tcp6'].flatMap((file) => {
    const [, ...lines] = readFileSync(`/proc/${pid}/net/${file}`, 'utf8').trim().split('\n');
    return lines.flatMap((line) => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      return state === LISTENING && inodes.has(inode) ? [{ address, port: Number.parseInt(port, 16) }] : [];
    });
  });
}

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Not empty on Linux, where 127.0.0.2 is an address that a listener on 127.0.0.1 does not have. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ internal, family }) => !internal && family === 'IPv4')
  .map(({ address }) => address)
  .concat(process.platform === 'linux' ? ['127.0.0.2'] : []);

(process.platform === 'linux' ? test : test.skip)('Network - server and Envoy listen on loopback only', async (t) => {
  const launcher = launch(t);
  await launcher.opened();
  const { server, envoy } = await launcher.pair();
  const { PORT, GRPC_PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  const found = [...listening(server.pid), ...listening(envoy.pid), ...listening(launcher.pid)];
  for (const { address, port } of found) t.true(LOOPBACK.has(address), `${address}:${port}`);
  const ports = [...new Set(found.map(({ port }) => port))].sort();
  t.deepEqual(ports, [PORT, GRPC_PORT, ENVOY_ADMIN_PORT].map(Number).sort());
});

test('Network - no port is reachable at another address of the machine', async (t) => {
  const { settings } = launch(t);
  await t.context.launchers[0]?.opened();
  for (const host of outside) {
    for (const port of [settings.PORT, settings.GRPC_PORT, settings.ENVOY_ADMIN_PORT]) {
      t.false(await canConnect(host, Number(port)), `${host}:${port}`);
    }
  }
  t.true(await canConnect('127.0.0.1', Number(settings.PORT)));
});

test('Network - ENVOY_ADMIN_HOST=0.0.0.0 opens the statistics, and no other port', async (t) => {
  const launcher = launch(t, { ENVOY_ADMIN_HOST: '0.0.0.0' });
  await launcher.opened();
  const { PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  for (const host of outside) {
    t.false(await canConnect(host, Number(PORT)));
    t.is((await fetch(`http://${host}:${ENVOY_ADMIN_PORT}/stats/prometheus`)).status, 200, host);
  }
  t.true(await canConnect('127.0.0.1', Number(ENVOY_ADMIN_PORT)));
});

test('Network - HOST=0.0.0.0 opens the public port, and no other', async (t) => {
  const launcher = launch(t, { HOST: '0.0.0.0' });
  const { url } = await launcher.opened();
  const { PORT, GRPC_PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  t.is(url, `http://127.0.0.1:${PORT}`);
  for (const host of outside) {
    t.true(await canConnect(host, Number(PORT)));
    t.false(await canConnect(host, Number(GRPC_PORT)));
    t.false(await canConnect(host, Number(ENVOY_ADMIN_PORT)));
  }
});
