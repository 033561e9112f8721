/** A PostgreSQL and a Redis of the test's own, which the instances of a service share. */
import { postgresMissing, startPostgres } from '../machine/postgres.ts';
import { MISSING_REDIS_SERVER, startRedis } from '../machine/redis.ts';
import type { Scope } from '../scope.ts';

/** Why they can't be started; undefined when they can. */
export const sharedMissing = postgresMissing ?? MISSING_REDIS_SERVER;

export type Shared = Awaited<ReturnType<typeof startShared>>;

/** Starts both. `postgresSettings` are `name=value`. */
export async function startShared(t: Scope, postgresSettings?: readonly string[]) {
  const [postgres, redis] = await Promise.all([startPostgres(t, postgresSettings), startRedis(t)]);
  let database = 0; // Redis has 16 of them
  return {
    postgres,
    redis,
    /** Returns settings of servers: an empty database, empty limits, and a demo key. */
    async settings(): Promise<Readonly<Record<string, string>>> {
      const REDIS_URL = `${redis.config.urls[0]}/${database++}`;
      return { DATABASE_URL: await postgres.createDatabase(), REDIS_URL, DEMO_ACCOUNT: 'yes' };
    },
  };
}
