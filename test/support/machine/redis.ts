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

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a server, which can be killed, paused and started again, until the end of the test. */
export async function startRedis(t: Scope, settings: readonly string[] = []) {
  const [port = 0] = await freePorts(1);
  const url = `redis://127.0.0.1:${port}`;
  const config: RedisConfig = { urls: [url], isCluster: false };
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', temporaryFolder(t)];
  let server: Program | undefined;
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
    /** Undefined while it is killed. */
    get pid() {
      return server?.pid;
    },
    startAgain,
    kill,
    /** Freezes it: it accepts connections and commands, and does not reply. */
    pause: () => void server?.process.kill('SIGSTOP'),
    resume: () => void server?.process.kill('SIGCONT'),
    /** Sends a command. Resolves with the reply. */
    async command(...args: string[]): Promise<unknown> {
      const client = createClient({ url, RESP: 2 }).on('error', () => undefined);
      await client.connect();
      return client.sendCommand(args).finally(() => client.destroy());
    },
  };
}

/** Starts a cluster of three servers, each with a third of the slots. */
export async function startRedisCluster(t: Scope) {
  const settings = ['--cluster-enabled', 'yes'];
  // The nodes communicate on a second port, which must be free too.
  const nodes = await Promise.all(
    [1, 2, 3].map(async () => startRedis(t, [...settings, '--cluster-port', String((await freePorts(1))[0])])),
  );
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const created = new Program('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  if ((await created.ended).code !== 0) throw new Error(`${created.output}${created.errors}`);
  const [first = '', ...others] = nodes.map(({ config }) => config.urls[0]);
  const config: RedisConfig = { urls: [first, ...others], isCluster: true };
  return { config, nodes };
}
