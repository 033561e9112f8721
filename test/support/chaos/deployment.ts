/**
 * The service as it is deployed, started by the launcher: one server on SQLite, or three on a PostgreSQL and a Redis of
 * the run's own.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Launcher, launcherSettings, signal } from '../launcher.ts';
import { freePortRange } from '../ports.ts';
import { type Shared, startShared } from '../shared.ts';
import { SmallDisk } from '../small-disk.ts';
import { until } from '../until.ts';
import { TcpProxy } from './proxy.ts';

export type DeploymentName = 'sqlite' | 'postgres';

const SERVERS: Readonly<Record<DeploymentName, number>> = { sqlite: 1, postgres: 3 };
const STOP_MS = 30_000;
const DISK_MIB = 512;
const OPEN_MS = 90_000;

type Settings = Readonly<Record<string, string>>;

/** PostgreSQL and Redis, with a proxy in front of each. */
export interface Proxied extends Shared {
  readonly postgresProxy: TcpProxy;
  readonly redisProxy: TcpProxy;
}

export class Deployment {
  readonly servers: number;
  readonly settings: Settings;
  readonly shared: Proxied | undefined;
  /** The disk of the data folder. */
  readonly disk: SmallDisk | undefined;
  launcher: Launcher;
  readonly #remove: () => Promise<void>;

  private constructor(
    parts: Pick<Deployment, 'servers' | 'settings' | 'shared' | 'disk'>,
    remove: () => Promise<void>,
  ) {
    this.servers = parts.servers;
    this.settings = parts.settings;
    this.shared = parts.shared;
    this.disk = parts.disk;
    this.#remove = remove;
    this.launcher = new Launcher(this.settings);
  }

  static async start(name: DeploymentName, limits: Settings): Promise<Deployment> {
    const { settings: own, remove } = await launcherSettings();
    const servers = SERVERS[name];
    const [shared, urls] = name === 'postgres' ? await startProxied() : [];
    const disk = name === 'sqlite' ? new SmallDisk(DISK_MIB) : undefined;
    const settings = {
      ...own,
      ...limits,
      ...(disk === undefined ? {} : { DATA_DIR: join(disk.path, 'data') }),
      DEMO_ACCOUNT: 'no',
      INSTANCES: String(servers),
      GRPC_PORT: String(await freePortRange(servers)),
      ...urls,
    };
    const deployment = new Deployment({ servers, settings, shared, disk }, remove);
    await deployment.launcher.opened().catch(async (error: unknown) => {
      await deployment.close();
      throw error;
    });
    return deployment;
  }

  get dataDir(): string {
    return this.settings.DATA_DIR ?? '';
  }

  get publicAddress(): string {
    return `127.0.0.1:${this.settings.PORT}`;
  }

  /** The running server processes. */
  async serverPids(): Promise<number[]> {
    return (await this.launcher.servers()).map(({ pid }) => pid);
  }

  async envoyPid(): Promise<number | undefined> {
    return (await this.launcher.children()).find(({ command }) => command.includes('--config-path'))?.pid;
  }

  /** Kills the launcher and starts another one, as a supervisor does, until the service is open again. */
  async killLauncher(): Promise<void> {
    await this.launcher.end('SIGKILL');
    const isOpen = () => {
      this.launcher = new Launcher(this.settings);
      return this.launcher.opened().catch(() => this.launcher.end('SIGKILL').then(() => undefined));
    };
    await until(isOpen, 'an open service', OPEN_MS);
  }

  async close(): Promise<void> {
    const children = this.launcher.hasEnded ? [] : await this.launcher.children();
    for (const { pid } of children) signal(pid, 'SIGCONT');
    this.launcher.process.kill('SIGTERM');
    const isSlow = await Promise.race([this.launcher.ended.then(() => false), delay(STOP_MS, true, { ref: false })]);
    if (isSlow) await this.launcher.end('SIGKILL');
    await Promise.all([this.shared?.postgresProxy.close(), this.shared?.redisProxy.close()]);
    await this.shared?.close();
    this.disk?.remove();
    await this.#remove();
  }
}

/** Starts PostgreSQL and Redis with a proxy in front of each, and returns settings that use these. */
async function startProxied(): Promise<[Proxied, Settings]> {
  const shared = await startShared();
  const { DATABASE_URL = '', REDIS_URL = '' } = await shared.settings();
  const [database, limits] = [new URL(DATABASE_URL), new URL(REDIS_URL)];
  const postgresProxy = await TcpProxy.open(Number(database.port));
  const redisProxy = await TcpProxy.open(Number(limits.port));
  database.port = String(postgresProxy.port);
  limits.port = String(redisProxy.port);
  const settings = { DATABASE_URL: database.href, REDIS_URL: limits.href };
  return [{ ...shared, postgresProxy, redisProxy }, settings];
}
