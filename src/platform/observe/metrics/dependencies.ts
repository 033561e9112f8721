/** Metrics of what calls depend on. Most are read at each scrape; commits are observed as they happen. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { NAME } from '../../../identity.ts';
import type { EventFeed } from '../../events/feed.ts';
import type { OpenCounts } from '../../rpc/open-calls.ts';
import type { Engine } from '../../storage/engine.ts';
import type { CommitListener } from '../../storage/group-commit.ts';
import type { PoolReading } from '../../storage/postgres-pool.ts';

/** The sources that are read at each scrape. */
export interface Dependencies {
  readonly server: { openCalls(): OpenCounts };
  readonly keyCache: { readonly counts: { readonly hit: number; readonly miss: number } };
  readonly usage: { readonly backlog: number };
  readonly events: Pick<EventFeed, 'sent' | 'stalledMs'>;
  readonly database: Pick<Engine, 'availability' | 'pools'>;
  /** When the certificates in use end, by setting. */
  readonly certificates: { readonly ends: Readonly<Record<string, Date>> } | undefined;
  /** Undefined without Redis. */
  readonly redis: { readonly isDegraded: boolean; readonly fallbackDecisions: number } | undefined;
}

/** The last is the maximum of writes that share a commit. */
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const DAY_MS = 86_400_000;
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Metrics of the storage engine that commits in groups. */
export function commitMetrics(registry: Registry): CommitListener {
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `${NAME}_group_commit_${name}`, help, buckets, registers: [registry] });
  const size = histogram('writes', 'Writes that shared a commit on SQLite.', GROUP_SIZES);
  const took = 'Time from the start of a transaction on SQLite until it is durable.';
  const duration = histogram('duration_seconds', took, COMMIT_SECONDS);
  const wait = histogram('wait_seconds', 'How long a write on SQLite waited in the queue.', COMMIT_SECONDS);
  return {
    onTurn: (waitedMs) => wait.observe(waitedMs / 1_000),
    onCommitted(writes, tookMs) {
      size.observe(writes);
      duration.observe(tookMs / 1_000);
    },
  };
}

/** One number, or one for each value of a label. */
type Reading = number | Readonly<Record<string, number>>;

export function dependencyMetrics(
  registry: Registry,
  { server, keyCache, usage, events, database: { availability, pools }, certificates, redis }: Dependencies,
): void {
  /** Adds a metric that is read at each scrape. */
  const add = (Metric: typeof Gauge | typeof Counter, name: string, help: string, read: () => Reading, label = '') => {
    const metric: Gauge | Counter = new Metric({
      name: `${NAME}_${name}`,
      help,
      labelNames: label === '' ? [] : [label],
      registers: [registry],
      collect() {
        metric.reset();
        const reading = read();
        if (typeof reading === 'number') metric.inc(reading);
        else for (const [value, number] of Object.entries(reading)) metric.inc({ [label]: value }, number);
      },
    });
  };
  add(Gauge, 'grpc_open_calls', 'Open calls, until their streams are closed.', () => server.openCalls(), 'kind');
  const found = 'API keys found in the cache, or in the database.';
  add(Counter, 'key_cache_lookups_total', found, () => keyCache.counts, 'result');
  add(Gauge, 'usage_backlog_rows', 'Counts and bans that are not stored yet.', () => usage.backlog);
  add(Counter, 'events_sent_total', 'Events sent, once for each stream.', () => events.sent);
  add(Gauge, 'events_stalled_seconds', 'For how long a newer event could not be read.', () => events.stalledMs / 1_000);
  add(Gauge, 'database_up', '0 while the database is unavailable or full.', () => (availability.isAway ? 0 : 1));
  const daysLeft = () => {
    const ends = Object.entries(certificates?.ends ?? {});
    return Object.fromEntries(ends.map(([setting, end]) => [setting, (end.getTime() - Date.now()) / DAY_MS]));
  };
  add(Gauge, 'certificate_days_left', 'Days until the first certificate of a file ends.', daysLeft, 'setting');
  if (pools !== undefined) {
    const ofPools = (name: string, help: string, read: (pool: PoolReading) => number) => {
      const readAll = () => Object.fromEntries(Object.entries(pools).map(([pool, reading]) => [pool, read(reading)]));
      add(Gauge, `database_pool_${name}`, help, readAll, 'pool');
    };
    ofPools('connections', 'Maximum of connections to PostgreSQL.', ({ size }) => size);
    ofPools('in_use', 'Connections to PostgreSQL that calls use.', ({ inUse }) => inUse);
    ofPools('waiting', 'Calls that wait for a connection to PostgreSQL.', ({ waiting }) => waiting);
  }
  if (redis !== undefined) {
    add(Gauge, 'redis_up', '0 while this server counts the limits by itself.', () => (redis.isDegraded ? 0 : 1));
    const byItself = 'Requests that this server counted by itself.';
    add(Counter, 'redis_fallback_decisions_total', byItself, () => redis.fallbackDecisions);
  }
}
