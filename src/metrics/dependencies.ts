/** Metrics of what calls depend on. Most are read at each scrape; commits are observed as they happen. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CommitListener } from '../storage/group-commit.ts';
import type { PoolReading } from '../storage/postgres-pool.ts';

/** The sources that are read at each scrape. */
export interface Dependencies {
  readonly server: { openCalls(): { readonly unary: number; readonly stream: number } };
  readonly keyCache: { readonly hits: number; readonly misses: number; readonly size: number };
  readonly usage: { readonly backlog: number };
  readonly database: { readonly isAway: boolean; readonly pools?: Readonly<Record<string, PoolReading>> };
  /** Undefined without Redis. */
  readonly redis: { readonly isDegraded: boolean; readonly fallbackDecisions: number } | undefined;
}

/** The last is the maximum of writes that share a commit. */
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Metrics of the storage engine that commits in groups. */
export function commitMetrics(registry: Registry): CommitListener {
  const registers = [registry];
  const size = new Histogram({
    name: 'petstore_group_commit_writes',
    help: 'Writes that shared a commit on SQLite.',
    buckets: GROUP_SIZES,
    registers,
  });
  const duration = new Histogram({
    name: 'petstore_group_commit_duration_seconds',
    help: 'Time from the start of a transaction on SQLite until it is durable.',
    buckets: COMMIT_SECONDS,
    registers,
  });
  const wait = new Histogram({
    name: 'petstore_group_commit_wait_seconds',
    help: 'How long a write on SQLite waited in the queue.',
    buckets: COMMIT_SECONDS,
    registers,
  });
  return {
    onTurn: (waitedMs) => wait.observe(waitedMs / 1_000),
    onCommitted(writes, tookMs) {
      size.observe(writes);
      duration.observe(tookMs / 1_000);
    },
  };
}

export function dependencyMetrics(
  registry: Registry,
  { server, keyCache, usage, database, redis }: Dependencies,
): void {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) => {
    const collect = function (this: Gauge) {
      this.set(read());
    };
    new Gauge({ name, help, registers, collect });
  };
  new Gauge({
    name: 'petstore_grpc_open_calls',
    help: 'Open calls, from their headers until their streams are closed.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, calls] of Object.entries(server.openCalls())) this.set({ kind }, calls);
    },
  });
  new Counter({
    name: 'petstore_key_cache_lookups_total',
    help: 'Look-ups of API keys in the cache. A "miss" waits for the database.',
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      this.inc({ result: 'hit' }, keyCache.hits);
      this.inc({ result: 'miss' }, keyCache.misses);
    },
  });
  gauge('petstore_key_cache_keys', 'API keys in the cache.', () => keyCache.size);
  gauge('petstore_usage_backlog_rows', 'Counts and bans that are not stored yet.', () => usage.backlog);
  gauge(
    'petstore_database_up',
    '1 while the database works, 0 while calls fail because it is unavailable or full.',
    () => (database.isAway ? 0 : 1),
  );
  if (database.pools !== undefined) poolMetrics(registry, database.pools);
  if (redis === undefined) return;
  gauge('petstore_redis_up', '1 while Redis counts the limits, 0 while this server counts them by itself.', () =>
    redis.isDegraded ? 0 : 1,
  );
  new Counter({
    name: 'petstore_redis_fallback_decisions_total',
    help: 'Requests that this server counted by itself because Redis was unavailable.',
    registers,
    collect() {
      this.reset();
      this.inc(redis.fallbackDecisions);
    },
  });
}

function poolMetrics(registry: Registry, pools: Readonly<Record<string, PoolReading>>): void {
  const gauge = (name: string, help: string, read: (pool: PoolReading) => number) => {
    const collect = function (this: Gauge<'pool'>) {
      for (const [pool, reading] of Object.entries(pools)) this.set({ pool }, read(reading));
    };
    new Gauge({ name, help, labelNames: ['pool'], registers: [registry], collect });
  };
  gauge('petstore_database_pool_connections', 'Maximum of connections to PostgreSQL.', ({ size }) => size);
  gauge('petstore_database_pool_in_use', 'Connections to PostgreSQL that calls use.', ({ inUse }) => inUse);
  gauge('petstore_database_pool_waiting', 'Calls that wait for a connection to PostgreSQL.', ({ waiting }) => waiting);
}
