/** The feed of three servers that share PostgreSQL and Redis, behind one Envoy. */
import { isReplicated } from '../support/followers.ts';
import { type OwnPostgres, ownPostgresMissing, startPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

interface Context extends TestStack {
  readonly postgres: OwnPostgres;
  readonly redis: RedisProcess;
}
const test = testUnless<Context>(ownPostgresMissing ?? MISSING_REDIS_SERVER);

test.before(async (t) => {
  const [postgres, redis] = [await startPostgres(['max_connections=100']), await RedisProcess.start()];
  t.context = { ...t.context, postgres, redis };
  const stack = await startTestStack({
    INSTANCES: '3',
    DATABASE_URL: await postgres.createDatabase(),
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    DEMO_ACCOUNT: 'yes',
    EVENT_STREAMS: '100',
  });
  t.context = { ...stack, postgres, redis };
});
test.after.always(async ({ context: { close, redis, postgres } }) => {
  await close?.();
  await redis?.stop();
  await postgres?.stop();
});

test('Replica rule - whichever server writes and answers, followers have what the GETs say', async (t) => {
  await isReplicated(t, t.context);
});
