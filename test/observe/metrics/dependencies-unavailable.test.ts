/** The metrics of PostgreSQL and Redis: available, unavailable, and available again. */
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { scrape, sumOf, untilSum } from '../../support/exposition.ts';
import { freePorts } from '../../support/ports.ts';
import { type OwnPostgres, ownPostgresMissing, startPostgres } from '../../support/postgres.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../../support/process.ts';
import { testUnless } from '../../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../../support/redis.ts';

interface Context {
  readonly postgres: OwnPostgres;
  readonly redis: RedisProcess;
  readonly server: ServerProcess;
  readonly port: number;
  readonly remove: () => Promise<void>;
}
const test = testUnless<Context>(ownPostgresMissing ?? MISSING_REDIS_SERVER);

test.before(async (t) => {
  const { path, remove } = await createDataDir();
  const [port = 0] = await freePorts(1);
  const [postgres, redis] = await Promise.all([startPostgres(), RedisProcess.start()]);
  const server = await startServerProcess(path, {
    METRICS_PORT: String(port),
    DATABASE_URL: await postgres.createDatabase(),
    REDIS_URL: redis.config.urls[0],
  });
  t.context = { postgres, redis, server, port, remove };
});
test.after.always(async ({ context: { postgres, redis, server, remove } }) => {
  server?.grpc.close();
  await server?.end('SIGTERM');
  await Promise.all([postgres?.stop(), redis?.stop()]);
  await remove?.();
});

test.serial('Pools - the maximum of connections, those in use and the waiting calls are shown', async (t) => {
  const { server, port } = t.context;
  await server.grpc.category();
  const text = await scrape(port);
  const read = (what: string, pool: string) => sumOf(text, `petstore_database_pool_${what}`, { pool });
  t.deepEqual([read('connections', 'read'), read('connections', 'write')], [4, 6]);
  t.deepEqual([read('in_use', 'read'), read('waiting', 'read'), read('waiting', 'write')], [0, 0, 0]);
});

test.serial('Redis - is shown as up, or as down while this server counts the limits by itself', async (t) => {
  const { server, redis, port } = t.context;
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1);
  t.is(sumOf(await scrape(port), 'petstore_redis_fallback_decisions_total'), 0);
  await redis.kill();
  await server.grpc.category();
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 0);
  await server.grpc.category();
  await untilSum(port, 'petstore_redis_fallback_decisions_total', {}, (sum) => sum > 0);
  await redis.startAgain();
  await untilSum(port, 'petstore_redis_up', {}, (sum) => sum === 1);
});

test.serial('Database - is shown as up, or as down while calls fail', async (t) => {
  const { server, postgres, port } = t.context;
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 1);
  const read = () => server.grpc.call(Pets.getPet, { petId: 1n }).catch((error: unknown) => error);
  await postgres.kill();
  await read();
  await untilSum(port, 'petstore_database_up', {}, (sum) => sum === 0);
  t.true((sumOf(await scrape(port), 'petstore_errors_total', { reason: 'UNAVAILABLE' }) ?? 0) > 0);
  await postgres.start();
  await untilSum(port, 'petstore_database_up', {}, (sum) => {
    void read();
    return sum === 1;
  });
});
