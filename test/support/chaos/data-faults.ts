/** Faults of PostgreSQL, of Redis, and of the connections to them. */
import { query } from '../postgres.ts';
import type { Proxied } from './deployment.ts';
import type { Fault, Moment, Touches } from './faults.ts';
import type { TcpProxy } from './proxy.ts';

const SLOW_MS = [20, 100, 500] as const;

type Happen = (shared: Proxied, moment: Moment) => Promise<string>;

/** A fault that needs the deployment with PostgreSQL and Redis. */
function fault(name: string, touches: readonly Touches[], happen: Happen): Fault {
  return {
    name,
    isPossible: ({ shared }) => shared !== undefined,
    happen: async (moment) => {
      const { shared } = moment.deployment;
      if (shared === undefined) throw new Error(`${name} needs PostgreSQL and Redis`);
      return { what: await happen(shared, moment), touches };
    },
  };
}

/** Faults of the connections to either. */
function faultsOfNetwork(name: string, touches: readonly Touches[], proxyOf: (shared: Proxied) => TcpProxy): Fault[] {
  return [
    fault(`${name}-cut`, touches, async (shared) => {
      proxyOf(shared).cut();
      return `all connections to ${name} were cut`;
    }),
    fault(`${name}-refused`, touches, async (shared, { holdMs, wait }) => {
      proxyOf(shared).refuse();
      await wait(holdMs).finally(() => proxyOf(shared).restore());
      return `connections to ${name} were refused for ${holdMs} ms`;
    }),
    fault(`${name}-silent`, touches, async (shared, { holdMs, wait }) => {
      proxyOf(shared).silence();
      await wait(holdMs).finally(() => proxyOf(shared).restore());
      return `nothing got through to ${name} for ${holdMs} ms`;
    }),
    fault(`${name}-slow`, touches, async (shared, { random, holdMs, wait }) => {
      const delayMs = random.pick(SLOW_MS);
      proxyOf(shared).slow(delayMs);
      await wait(holdMs).finally(() => proxyOf(shared).restore());
      return `${name} was ${delayMs} ms slower each way for ${holdMs} ms`;
    }),
  ];
}

const TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'";

export const DATA_FAULTS: readonly Fault[] = [
  ...faultsOfNetwork('redis', ['redis'], ({ redisProxy }) => redisProxy),
  fault('redis-paused', ['redis'], async ({ redis }, { holdMs, wait }) => {
    redis.pause();
    await wait(holdMs).finally(() => redis.resume());
    return `Redis stood still for ${holdMs} ms`;
  }),
  fault('redis-emptied', ['redis'], async ({ redis }, { holdMs, wait }) => {
    await redis.kill();
    await redis.forget();
    await wait(holdMs).finally(() => redis.startAgain());
    return `Redis was killed and came back empty after ${holdMs} ms`;
  }),
  fault('redis-restarted', ['redis'], async ({ redis }, { holdMs, wait }) => {
    await redis.command('SAVE');
    await redis.kill();
    await wait(holdMs).finally(() => redis.startAgain());
    return `Redis was killed and came back with its data after ${holdMs} ms`;
  }),
  ...faultsOfNetwork('postgres', ['storage'], ({ postgresProxy }) => postgresProxy),
  fault('postgres-paused', ['storage'], async ({ postgres }, { holdMs, wait }) => {
    await postgres.pause();
    await wait(holdMs).finally(() => postgres.resume());
    return `PostgreSQL stood still for ${holdMs} ms`;
  }),
  fault('postgres-killed', ['storage'], async ({ postgres }, { holdMs, wait }) => {
    await postgres.kill();
    await wait(holdMs).finally(() => postgres.start());
    return `PostgreSQL was killed, and started again after ${holdMs} ms`;
  }),
  fault('postgres-terminated', ['storage'], async ({ databaseUrl }) => {
    await query(databaseUrl, TERMINATE);
    return 'PostgreSQL ended all connections of the service';
  }),
];
