/** The feed of three servers that share PostgreSQL and Redis, behind one Envoy. */
import { type EventSource, openEvents } from '../support/event-source.ts';
import { isReplicated } from '../support/followers.ts';
import { type OwnPostgres, ownPostgresMissing, startPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

interface Context extends TestStack {
  readonly postgres: OwnPostgres;
  readonly redis: RedisProcess;
}
const { serial: test, before, after } = testUnless<Context>(ownPostgresMissing ?? MISSING_REDIS_SERVER);

before(async (t) => {
  const [postgres, redis] = [await startPostgres(['max_connections=100']), await RedisProcess.start()];
  t.context = { ...t.context, postgres, redis };
  const stack = await startTestStack({
    INSTANCES: '3',
    DATABASE_URL: await postgres.createDatabase(),
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    DEMO_ACCOUNT: 'yes',
    EVENT_STREAMS: '40',
  });
  t.context = { ...stack, postgres, redis };
});
after.always(async ({ context: { close, redis, postgres } }) => {
  await close?.();
  await redis?.stop();
  await postgres?.stop();
});

test('Replica rule - whichever server writes and answers, followers have what the GETs say', async (t) => {
  await isReplicated(t, t.context);
});

const MAX_STREAMS = 40;

test('Streams - the number of an account counts over all servers; those of a killed one are free again', async (t) => {
  t.timeout(60_000);
  const { rest, key, stack } = t.context;
  const open: EventSource[] = [];
  t.teardown(() => {
    for (const stream of open) stream.close();
  });
  await rest.get('/events?limit=1'); // Envoy knows the key then
  const openMany = async (count: number) => {
    const all = await Promise.all(Array.from({ length: count }, () => openEvents(`${rest.url}/events/stream`, key)));
    open.push(...all);
    return all.filter(({ response }) => response.status === 200);
  };
  const opened = await openMany(3 * MAX_STREAMS);
  t.is(opened.length, MAX_STREAMS);
  let ended = 0;
  const onEnd = () => {
    ended += 1;
  };
  for (const stream of opened) void stream.take(Number.POSITIVE_INFINITY).catch(onEnd);
  stack.servers[0]?.process.kill('SIGKILL');
  await until(() => ended > 0, 'the end of its streams');
  t.true(ended < MAX_STREAMS, 'each server had some');
  let again = 0;
  const openAgain = async () => {
    again += (await openMany(1)).length;
    return again === ended;
  };
  await until(openAgain, 'streams in place of those', 20_000);
  t.is((await openMany(1)).length, 0);
});
