/**
 * The service as it is deployed, started by the launcher: one server on SQLite, or three on a PostgreSQL and a Redis of
 * the run's own.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { mountSmallDisk, noNamespaces } from '../../support/machine/namespaces.ts';
import { openProxy } from '../../support/machine/tcp-proxy.ts';
import { freePorts, type Scope } from '../../support/scope.ts';
import { Launcher, launcherSettings, type Settings, signal } from '../../support/service/process.ts';
import { startShared } from '../../support/service/shared.ts';
import { until } from '../../support/until.ts';

export type DeploymentName = 'sqlite' | 'postgres';

const SERVERS: Readonly<Record<DeploymentName, number>> = { sqlite: 1, postgres: 3 };
const STOP_MS = 30_000;
const DISK_MIB = 512;
const OPEN_MS = 90_000;

/** PostgreSQL and Redis, with a proxy in front of each. */
export type Proxied = Awaited<ReturnType<typeof startProxied>>[0];

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;

export async function startDeployment(t: Scope, name: DeploymentName) {
  const own = await launcherSettings(t);
  const servers = SERVERS[name];
  const [shared, urls] = name === 'postgres' ? await startProxied(t) : [];
  const disk = name === 'sqlite' && noNamespaces === undefined ? mountSmallDisk(DISK_MIB) : undefined;
  t.teardown(() => disk?.remove());
  const dataDir = disk === undefined ? (own.DATA_DIR ?? '') : `${disk.path}/data`;
  const instances = { INSTANCES: String(servers), GRPC_PORT: String((await freePorts(servers))[0]) };
  const settings: Settings = { ...own, DATA_DIR: dataDir, DEMO_ACCOUNT: 'no', ...instances, ...urls };
  let launcher = new Launcher(settings);
  t.teardown(async () => {
    const children = launcher.hasEnded ? [] : await launcher.children();
    for (const { pid } of children) signal(pid, 'SIGCONT');
    launcher.process.kill('SIGTERM');
    const isSlow = await Promise.race([launcher.ended.then(() => false), delay(STOP_MS, true, { ref: false })]);
    if (isSlow) await launcher.end('SIGKILL');
  });
  await launcher.opened();
  return {
    servers,
    shared,
    disk,
    dataDir,
    publicAddress: `127.0.0.1:${settings.PORT}`,
    grpcAddress: `127.0.0.1:${settings.GRPC_PORT}`,
    get launcher() {
      return launcher;
    },
    serverPids: async () => (await launcher.servers()).map(({ pid }) => pid),
    envoyPid: async () => (await launcher.children()).find(({ command }) => command.includes('--config-path'))?.pid,
    /** Kills the launcher and starts another one, as a supervisor does, until the service is open again. */
    async killLauncher() {
      await launcher.end('SIGKILL');
      const isOpen = () => {
        launcher = new Launcher(settings);
        return launcher.opened().catch(() => launcher.end('SIGKILL').then(() => undefined));
      };
      await until(isOpen, 'an open service', OPEN_MS);
    },
  };
}

/** Starts PostgreSQL and Redis with a proxy in front of each, and returns settings that use these. */
async function startProxied(t: Scope) {
  const shared = await startShared(t);
  const { DATABASE_URL = '', REDIS_URL = '' } = await shared.settings();
  const [database, limits] = [new URL(DATABASE_URL), new URL(REDIS_URL)];
  const postgresProxy = await openProxy(t, Number(database.port));
  const redisProxy = await openProxy(t, Number(limits.port));
  database.port = String(postgresProxy.port);
  limits.port = String(redisProxy.port);
  const settings = { DATABASE_URL: database.href, REDIS_URL: limits.href };
  return [{ ...shared, postgresProxy, redisProxy }, settings] as const;
}
