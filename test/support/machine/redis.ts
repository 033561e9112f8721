/** Redis for tests: real servers on free ports, with their data in a temporary folder. */
import { createClient } from '@redis/client';
import type { RedisConfig } from '../../../src/platform/config/config.ts';
import { freePorts, type Scope, temporaryFolder } from '../scope.ts';
import { Program } from '../service/process.ts';
import { findProgram, missing } from './find-program.ts';

const FOLDERS = ['/usr/bin', '/usr/local/bin'];
const PROGRAM = findProgram(['redis-server'], FOLDERS);

/** Why tests with Redis can't run; undefined when they can. */
export const MISSING_REDIS_SERVER = missing('redis-server', undefined, FOLDERS);

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a server, which can be killed, paused and started again, until the end of the test. */
export async function startRedis(t: Scope, settings: readonly string[] = []) {
  const [port = 0, clusterPort = 0] = await freePorts(2);
  const url = `redis://127.0.0.1:${port}`;
  const config: RedisConfig = { urls: [url], isCluster: false };
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', temporaryFolder(t)];
  // The nodes of a cluster communicate on a second port, which must be free too.
  if (settings.includes('--cluster-enabled')) place.push('--cluster-port', String(clusterPort));
  let server: Program | undefined;
  let isPaused = false;
  /** Starts it on the same port, without data. */
  const startAgain = async () => {
    server = new Program(PROGRAM ?? 'redis-server', [...place, '--save', '', '--appendonly', 'no', ...settings]);
    await server.says(/Ready to accept connections/);
  };
  /** Kills it, which loses its data. */
  const kill = async () => {
    const killed = server;
    server = undefined;
    await killed?.end('SIGKILL');
  };
  t.teardown(kill);
  await startAgain();
  return {
    port,
    config,
    get pid() {
      return server?.pid;
    },
    /** Neither killed nor frozen. */
    get isRunning() {
      return server !== undefined && !isPaused;
    },
    startAgain,
    kill,
    /** Freezes it: it accepts connections and commands, and does not reply. */
    pause() {
      isPaused = server?.process.kill('SIGSTOP') ?? false;
    },
    resume() {
      isPaused = false;
      server?.process.kill('SIGCONT');
    },
    async command(...args: string[]): Promise<unknown> {
      const client = createClient({ url, RESP: 2 }).on('error', () => undefined);
      await client.connect();
      return client.sendCommand(args).finally(() => client.destroy());
    },
  };
}

export type TestCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** Starts a cluster of three masters, each with a third of the slots, and of as many replicas of each. */
export async function startRedisCluster(t: Scope, replicas = 0) {
  const settings = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--repl-diskless-sync-delay', '0'];
  const start = () => startRedis(t, settings);
  const nodes = await Promise.all(Array.from({ length: 3 * (1 + replicas) }, start));
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const run = async (command: string, ...args: readonly string[]) => {
    const program = new Program('redis-cli', ['--cluster', command, ...args]);
    if ((await program.ended).code !== 0) throw new Error(`${program.output}${program.errors}`);
  };
  await run('create', ...addresses, '--cluster-replicas', `${replicas}`, '--cluster-yes');
  const [first = '', ...others] = nodes.map(({ config }) => config.urls[0]);
  const config: RedisConfig = { urls: [first, ...others], isCluster: true };
  return { config, nodes, start, run };
}
