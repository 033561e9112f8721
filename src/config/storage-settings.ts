/** Settings of the database, Redis, retention and keys. */
import { fileURLToPath } from 'node:url';
import { toCount, toDatabaseUrl, toOperatorKey, toPath, toRedis, toYesOrNo, wholeNumber } from './checks.ts';
import { optional, setting } from './setting.ts';

/** A year. */
const MAX_HOURS = 8_760;
const MAX_CONNECTIONS = 1_000;

const DATA_DIR = fileURLToPath(new URL('../../data', import.meta.url));

export const STORAGE = {
  DATA_DIR: setting({
    about:
      'The folder of the SQLite file, the key files and the logs. One service uses it; other users have no access.',
    fallback: DATA_DIR,
    fallbackInWords: '`data`',
    parse: toPath,
  }),
  DATABASE_URL: optional({
    about: 'The PostgreSQL database, `postgres://user:password@host:port/name`. TLS with `?sslmode=verify-full`.',
    fallbackInWords: 'the SQLite file in `DATA_DIR`',
    isSecret: true,
    parse: toDatabaseUrl,
  }),
  DATABASE_CONNECTIONS: setting({
    about: 'The most connections of each server to PostgreSQL. Two fifths are for reads, the others for writes.',
    fallback: '10',
    parse: wholeNumber('number', MAX_CONNECTIONS, 2),
  }),
  PGBOUNCER: setting({
    about:
      'Whether `DATABASE_URL` leads to [PgBouncer](operations.md#pgbouncer). With `yes`, nothing is kept in a session.',
    fallback: 'no',
    parse: toYesOrNo,
  }),
  MIGRATE_AT_START: setting({
    about: 'Whether a start migrates the database. With `no`, run `npm run migrate`.',
    fallback: 'yes',
    parse: toYesOrNo,
  }),
  REDIS_URL: optional({
    about:
      'The Redis that counts limits for all servers: `redis://` or `rediss://` (TLS). For a cluster, several nodes ' +
      'separated by commas, `redis://:password@a:6379,b:6379`, or one with `?cluster=true`.',
    fallbackInWords: "each server's memory",
    isSecret: true,
    parse: toRedis,
  }),
  USAGE_DAYS: setting({
    about: 'How many days of usage are kept for each account, besides today.',
    fallback: '400',
    parse: toCount,
  }),
  IDEMPOTENCY_HOURS: setting({
    about: 'How many hours, at least, a response is kept under its `Idempotency-Key`.',
    fallback: '24',
    parse: wholeNumber('number', MAX_HOURS),
  }),
};

export const KEYS = {
  OPERATOR_KEY: optional({
    about: "The operator's key for the admin service, at least 16 characters. All machines need the same one.",
    fallbackInWords: 'generated at the first start, in `DATA_DIR/operator.key`',
    isSecret: true,
    parse: toOperatorKey,
  }),
  DEMO_ACCOUNT: optional({
    about: 'Whether a new database gets a demo account, with a key in `DATA_DIR/demo.key`.',
    fallbackInWords: '`yes`; `no` with `DATABASE_URL`',
    parse: toYesOrNo,
  }),
};
