/**
 * The service as it is deployed, started by the launcher: one server on SQLite, or three on a PostgreSQL and a Redis of
 * the run's own. It restarts the launcher when that has ended, as a supervisor does, and records it.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Launcher, launcherSettings } from '../launcher.ts';
import { freePortRange } from '../ports.ts';
import { type Shared, startShared } from '../shared.ts';
import { SmallDisk } from '../small-disk.ts';
import { until } from '../until.ts';
import { TcpProxy } from './proxy.ts';

export type DeploymentName = 'sqlite' | 'postgres';

const SERVERS: Readonly<Record<DeploymentName, number>> = { sqlite: 1, postgres: 3 };
const CLOCK = new URL('./shifted-clock.ts', import.meta.url).href;
const STOP_MS = 30_000;
const RETRY_MS = 500;
const DISK_MIB = 512;
const OPEN_MS = 90_000;
const SAID_CHARACTERS = 500;

type Settings = Readonly<Record<string, string>>;

/** PostgreSQL and Redis, with a proxy in front of each. */
export interface Proxied extends Shared {
  /** The URL of the service's database, without the proxy. */
  readonly databaseUrl: string;
  readonly postgresProxy: TcpProxy;
  readonly redisProxy: TcpProxy;
}

export class Deployment {
  readonly servers: number;
  readonly settings: Settings;
  readonly shared: Proxied | undefined;
  /** The disk of the data folder. */
  readonly disk: SmallDisk | undefined;
  /** The launcher's output at each unexpected end. */
  readonly unexpectedEnds: string[] = [];
  readonly #remove: () => Promise<void>;
  #launcher: Launcher;
  #isOpen = false;
  #isExpected = false;
  #isClosing = false;

  private constructor(
    parts: Pick<Deployment, 'servers' | 'settings' | 'shared' | 'disk'>,
    remove: () => Promise<void>,
  ) {
    this.servers = parts.servers;
    this.settings = parts.settings;
    this.shared = parts.shared;
    this.disk = parts.disk;
    this.#remove = remove;
    this.#launcher = this.#launch();
  }

  static async start(name: DeploymentName, limits: Settings): Promise<Deployment> {
    const { settings: own, remove } = await launcherSettings();
    const clocks = join(own.DATA_DIR ?? '', '..', 'clocks');
    await mkdir(clocks, { recursive: true });
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
      CHAOS_CLOCKS: clocks,
      NODE_OPTIONS: `--import=${CLOCK}`,
      ...urls,
    };
    const deployment = new Deployment({ servers, settings, shared, disk }, remove);
    await deployment.opened().catch(async (error: unknown) => {
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

  get launcher(): Launcher {
    return this.#launcher;
  }

  /** The running server processes. */
  async serverPids(): Promise<number[]> {
    return (await this.#launcher.servers()).map(({ pid }) => pid);
  }

  async envoyPid(): Promise<number | undefined> {
    return (await this.#launcher.children()).find(({ command }) => command.includes('--config-path'))?.pid;
  }

  /** Kills the launcher. Resolves when the service is open again. */
  async killLauncher(): Promise<void> {
    this.#isExpected = true;
    await this.#launcher.end('SIGKILL');
    await this.opened();
  }

  /** Resolves when a launcher has reported that the service is open. */
  async opened(): Promise<void> {
    const isOpen = () => this.#isOpen && !this.#launcher.hasEnded;
    await until(isOpen, 'an open service', OPEN_MS).catch(() => {
      throw new Error(`the service can't be started: ${this.#said}`);
    });
  }

  /** The end of the launcher's output. */
  get #said(): string {
    return `${this.#launcher.output.slice(-SAID_CHARACTERS)}${this.#launcher.errors}`.trim();
  }

  /** Sets the clock of a server, numbered from 0, ahead of the true time. */
  async setClock(server: number, offsetMs: number): Promise<void> {
    const port = String(Number(this.settings.GRPC_PORT) + server);
    await writeFile(join(this.settings.CHAOS_CLOCKS ?? '', port), String(offsetMs));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const children = this.#launcher.hasEnded ? [] : await this.#launcher.children();
    for (const { pid } of children) signal(pid, 'SIGCONT');
    this.#launcher.process.kill('SIGTERM');
    const isSlow = await Promise.race([this.#launcher.ended.then(() => false), delay(STOP_MS, true, { ref: false })]);
    if (isSlow) await this.#launcher.end('SIGKILL');
    await Promise.all([this.shared?.postgresProxy.close(), this.shared?.redisProxy.close()]);
    await this.shared?.close();
    this.disk?.remove();
    await this.#remove();
  }

  /** Starts a launcher, and another one when it has ended. */
  #launch(): Launcher {
    const launcher = new Launcher(this.settings);
    this.#isOpen = false;
    launcher.opened().then(
      () => {
        this.#isOpen = true;
        this.#isExpected = false;
      },
      () => undefined, // it has ended
    );
    void launcher.ended.then(async () => {
      if (!this.#isExpected && !this.#isClosing) this.unexpectedEnds.push(this.#said);
      await delay(RETRY_MS);
      if (!this.#isClosing) this.#launcher = this.#launch();
    });
    return launcher;
  }
}

/** Sends a signal to a process that may have ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended
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
  return [{ ...shared, databaseUrl: DATABASE_URL, postgresProxy, redisProxy }, settings];
}
