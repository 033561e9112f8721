/**
 * The service as it is deployed, started by the launcher: one server on SQLite, or three on a PostgreSQL and a Redis of
 * the run's own. It restarts the launcher when that has ended, as a supervisor does, and records it.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Launcher, launcherSettings } from '../launcher.ts';
import { freePortRange } from '../ports.ts';
import { type Shared, startShared } from '../shared.ts';
import { SmallDisk } from '../small-disk.ts';
import { until } from '../until.ts';
import { trueMs } from './history.ts';
import { TcpProxy } from './proxy.ts';

export const DEPLOYMENTS = ['sqlite', 'postgres'] as const;
export type DeploymentName = (typeof DEPLOYMENTS)[number];

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

interface Parts {
  readonly name: DeploymentName;
  readonly settings: Settings;
  readonly shared: Proxied | undefined;
  readonly disk: SmallDisk | undefined;
  readonly clocks: string;
  readonly remove: () => Promise<void>;
}

export class Deployment {
  readonly name: DeploymentName;
  readonly shared: Proxied | undefined;
  /** The disk of the data folder. */
  readonly disk: SmallDisk | undefined;
  /** The launcher's output at each unexpected end. */
  readonly unexpectedEnds: { readonly atMs: number; readonly said: string }[] = [];
  readonly #parts: Parts;
  #launcher: Launcher;
  #isExpected = false;
  #isClosing = false;
  #opened: Promise<unknown>;

  private constructor(parts: Parts) {
    this.name = parts.name;
    this.shared = parts.shared;
    this.disk = parts.disk;
    this.#parts = parts;
    this.#launcher = new Launcher(parts.settings);
    this.#opened = this.#launcher.opened();
    void this.#supervise();
  }

  static async start(name: DeploymentName, limits: Settings): Promise<Deployment> {
    const { settings, remove } = await launcherSettings();
    const clocks = join(settings.DATA_DIR ?? '', '..', 'clocks');
    await mkdir(clocks, { recursive: true });
    const shared = name === 'postgres' ? await throughProxies(await startShared()) : undefined;
    const disk = name === 'sqlite' ? new SmallDisk(DISK_MIB) : undefined;
    const all = {
      ...settings,
      ...limits,
      ...(disk === undefined ? {} : { DATA_DIR: join(disk.path, 'data') }),
      DEMO_ACCOUNT: 'no',
      INSTANCES: String(SERVERS[name]),
      GRPC_PORT: String(await freePortRange(SERVERS[name])),
      CHAOS_CLOCKS: clocks,
      NODE_OPTIONS: `--import=${CLOCK}`,
      ...shared?.settings,
    };
    const deployment = new Deployment({ name, settings: all, shared: shared?.proxied, disk, clocks, remove });
    try {
      await deployment.#opened;
    } catch (error) {
      await deployment.close();
      throw error;
    }
    return deployment;
  }

  get servers(): number {
    return SERVERS[this.name];
  }

  get dataDir(): string {
    return this.#parts.settings.DATA_DIR ?? '';
  }

  get publicAddress(): string {
    return `127.0.0.1:${this.#parts.settings.PORT}`;
  }

  get grpcAddress(): string {
    return `127.0.0.1:${this.#parts.settings.GRPC_PORT}`;
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
    const isOpen = async () => !this.#launcher.hasEnded && (await this.#isOpen());
    await until(isOpen, 'an open service', OPEN_MS).catch(() => {
      throw new Error(`the service can't be started again: ${this.#said}`);
    });
  }

  #isOpen(): Promise<boolean> {
    return this.#opened.then(
      () => true,
      () => false,
    );
  }

  /** The end of the launcher's output. */
  get #said(): string {
    return `${this.#launcher.output.slice(-SAID_CHARACTERS)}${this.#launcher.errors}`.trim();
  }

  /** Sets the clock of a server, numbered from 0, ahead of the true time. */
  async setClock(server: number, offsetMs: number): Promise<void> {
    await writeFile(this.#clockFile(server), String(offsetMs));
  }

  async rightClock(server: number): Promise<void> {
    await rm(this.#clockFile(server), { force: true });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const children = this.#launcher.hasEnded ? [] : await this.#launcher.children();
    for (const { pid } of children) signal(pid, 'SIGCONT');
    this.#launcher.process.kill('SIGTERM');
    const isSlow = await Promise.race([this.#launcher.ended.then(() => false), delay(STOP_MS, true, { ref: false })]);
    if (isSlow) await this.#launcher.end('SIGKILL');
    const { shared, disk, remove } = this.#parts;
    await Promise.all([shared?.postgresProxy.close(), shared?.redisProxy.close()]);
    await shared?.close();
    disk?.remove();
    await remove();
  }

  #clockFile(server: number): string {
    return join(this.#parts.clocks, String(Number(this.#parts.settings.GRPC_PORT) + server));
  }

  async #supervise(): Promise<void> {
    for (;;) {
      this.#opened.catch(() => undefined); // `opened` reports it
      await this.#launcher.ended;
      if (this.#isClosing) return;
      if (!this.#isExpected) this.unexpectedEnds.push({ atMs: trueMs(), said: this.#said });
      await delay(RETRY_MS);
      if (this.#isClosing) return;
      this.#launcher = new Launcher(this.#parts.settings);
      this.#opened = this.#launcher.opened().then(() => {
        this.#isExpected = false;
      });
    }
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

/** Adds a proxy in front of PostgreSQL and of Redis, and settings that use them. */
async function throughProxies(shared: Shared): Promise<{ proxied: Proxied; settings: Settings }> {
  const { DATABASE_URL = '', REDIS_URL = '' } = await shared.settings();
  const [database, limits] = [new URL(DATABASE_URL), new URL(REDIS_URL)];
  const postgresProxy = await TcpProxy.open(Number(database.port));
  const redisProxy = await TcpProxy.open(Number(limits.port));
  database.port = String(postgresProxy.port);
  limits.port = String(redisProxy.port);
  const settings = { DATABASE_URL: database.href, REDIS_URL: limits.href };
  return { proxied: { ...shared, databaseUrl: DATABASE_URL, postgresProxy, redisProxy }, settings };
}
