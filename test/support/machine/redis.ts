/** Redis for tests: real servers on free ports, with their data in a temporary folder. */
import { createClient } from '@redis/client';
import type { RedisConfig } from '../../../src/platform/config/config.ts';
import type { Scope } from '../scope.ts';
import { Program } from '../service/process.ts';
import { findProgram, missing } from './find-program.ts';
import { temporaryFolder } from './folder.ts';
import { freePorts } from './ports.ts';

const FOLDERS = ['/usr/bin', '/usr/local/bin'];
const PROGRAM = findProgram(['redis-server'], FOLDERS);

/** Why tests with Redis can't run; undefined when they can. */
export const MISSING_REDIS_SERVER = missing('redis-server', undefined, FOLDERS);

/** A server process of the test, which can be killed, paused and started again. */
export class RedisProcess {
  readonly port: number;
  readonly config: RedisConfig;
  readonly #folder: string;
  readonly #settings: readonly string[];
  #process: Program | undefined;

  private constructor(port: number, folder: string, settings: readonly string[]) {
    this.port = port;
    this.config = { urls: [`redis://127.0.0.1:${port}`], isCluster: false };
    this.#folder = folder;
    this.#settings = settings;
  }

  static async start(t: Scope, settings: readonly string[] = []): Promise<RedisProcess> {
    const [port = 0] = await freePorts(1);
    const redis = new RedisProcess(port, temporaryFolder(t), settings);
    t.teardown(() => redis.kill());
    await redis.startAgain();
    return redis;
  }

  /** Undefined while it is killed. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it on the same port, without data. */
  async startAgain(): Promise<void> {
    const place = ['--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.#folder];
    const options = [...place, '--save', '', '--appendonly', 'no', ...this.#settings];
    this.#process = new Program(PROGRAM ?? 'redis-server', options);
    await this.#process.says(/Ready to accept connections/);
  }

  /** Kills it, which loses its data. */
  async kill(): Promise<void> {
    const killed = this.#process;
    this.#process = undefined;
    await killed?.end('SIGKILL');
  }

  /** Freezes it: it accepts connections and commands, and does not reply. */
  pause(): void {
    this.#process?.process.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.process.kill('SIGCONT');
  }

  /** Sends a command. Resolves with the reply. */
  async command(...args: string[]): Promise<unknown> {
    const client = createClient({ url: this.config.urls[0], RESP: 2 }).on('error', () => undefined);
    await client.connect();
    return client.sendCommand(args).finally(() => client.destroy());
  }
}

/** Starts a cluster of three servers, each with a third of the slots. */
export async function startRedisCluster(t: Scope) {
  const settings = ['--cluster-enabled', 'yes'];
  // The nodes communicate on a second port, which must be free too.
  const nodes = await Promise.all(
    [1, 2, 3].map(async () => RedisProcess.start(t, [...settings, '--cluster-port', String((await freePorts(1))[0])])),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const created = new Program('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  if ((await created.ended).code !== 0) throw new Error(`${created.output}${created.errors}`);
  const [first = '', ...others] = nodes.map(({ config }) => config.urls[0]);
  const config: RedisConfig = { urls: [first, ...others], isCluster: true };
  return { config, nodes };
}
