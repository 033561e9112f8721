/**
 * The process that has PostgreSQL and Redis: starts them, or takes those that the environment names, makes a database for
 * each stack, says where everything is, and cleans up when it is told to stop or the benchmark is gone.
 *
 * A process of its own, because these servers are in the process group of whoever starts them: Ctrl-C in a terminal is
 * for the benchmark, which stops the service before what it stands on.
 */
import { connectPostgres } from '../test/support/postgres.ts';
import { startRedis } from '../test/support/redis.ts';
import type { Databases } from './shared.ts';

async function main(stacks: number, connections: number): Promise<void> {
  const toStop = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'disconnect'] as const) process.once(signal, () => resolve());
  });
  await using cleanUp = new AsyncDisposableStack();
  const postgres = await connectPostgres([`max_connections=${connections}`]);
  cleanUp.defer(() => postgres.stop());
  const redis = await startRedis();
  cleanUp.defer(() => redis.stop());

  const pid = await postgres.pid();
  const settings: Record<string, string>[] = [];
  for (let index = 0; index < stacks; index += 1) {
    const url = await postgres.createDatabase();
    if (pid === undefined) cleanUp.defer(() => postgres.dropDatabase(url)); // else it goes with the server
    // The accounts of all stacks have the same ids: a server of ours has a numbered database for each.
    const [redisUrl] = redis.config.urls;
    settings.push({ DATABASE_URL: url, REDIS_URL: redis.pid === undefined ? redisUrl : `${redisUrl}/${index}` });
  }
  const counted = {
    ...(pid !== undefined && { postgres: { pids: [pid], withChildren: true as const } }),
    ...(redis.pid !== undefined && { redis: { pids: [redis.pid] } }),
  };
  if (process.connected) process.send?.({ settings, counted } satisfies Databases);
  await toStop;
}

const [stacks = 0, connections = 0] = process.argv.slice(2).map(Number);
try {
  await main(stacks, connections);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
if (process.connected) process.disconnect?.();
