/** What the instances of a service share, beside a data folder: a PostgreSQL and a Redis of the test's own. */
import { type OwnPostgres, ownPostgresMissing, startPostgres } from './postgres.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from './redis.ts';

/** Why there can be no instances, if there can't. */
export const sharedMissing = ownPostgresMissing ?? MISSING_REDIS_SERVER;

export interface Shared {
  readonly postgres: OwnPostgres;
  readonly redis: RedisProcess;
  /** Settings of servers, with an empty database, no counts, and a key to call them with. */
  settings(): Promise<Readonly<Record<string, string>>>;
  close(): Promise<void>;
}

export async function startShared(): Promise<Shared> {
  const [postgres, redis] = await Promise.all([startPostgres(), RedisProcess.start()]);
  let database = 0; // of Redis, which has 16
  return {
    postgres,
    redis,
    async settings() {
      const REDIS_URL = `${redis.config.urls[0]}/${database++}`;
      return { DATABASE_URL: await postgres.createDatabase(), REDIS_URL, DEMO_ACCOUNT: 'yes' };
    },
    close: async () => void (await Promise.all([postgres.stop(), redis.stop()])),
  };
}
