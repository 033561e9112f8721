/** The server's metrics for Prometheus. Loaded only when METRICS_PORT is set. docs/observability.md lists them. */
import { statfsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { NAME } from '../../../identity.ts';
import type { MetricsConfig } from '../../config/config.ts';
import { version } from '../../config/constants.ts';
import type { EventFeed } from '../../events/feed.ts';
import type { OpenCounts } from '../../rpc/open-calls.ts';
import type { Engine, PoolUse } from '../../storage/engine.ts';
import { callMetrics } from './calls.ts';
import { listen } from './listener.ts';

/** Default metrics of prom-client that break Prometheus's naming rules, or that are useless here. */
const OMITTED = [
  ...['resources', 'handles', 'requests'].flatMap((what) => [`nodejs_active_${what}`, `nodejs_active_${what}_total`]),
  'nodejs_version_info',
];

/** `deploy/backup.ts` leaves the metrics of its runs in the data folder. */
export function createMetrics(dataDir: string) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of OMITTED) registry.removeSingleMetric(name);
  const help = 'Always 1. The labels are the release and the version of Node.';
  const labelNames = ['version', 'node'];
  const build = new Gauge({ name: `${NAME}_build_info`, help, labelNames, registers: [registry] });
  build.set({ version: version(), node: process.versions.node }, 1);
  return {
    calls: callMetrics(registry),
    /** Opens the port, as listener.ts does. */
    listen(config: MetricsConfig, dependencies: Dependencies, onFailure: (error: unknown) => void) {
      dependencyMetrics(registry, dataDir, dependencies);
      const backups = () => readFile(join(dataDir, 'backup.prom'), 'utf8').catch(() => '');
      const metrics = async () => (await registry.metrics()) + (await backups());
      return listen({ contentType: registry.contentType, metrics }, config, onFailure);
    },
  };
}

/** What calls depend on, which is read at each scrape. */
export interface Dependencies {
  readonly server: { openCalls(): OpenCounts };
  readonly recorder: { readonly backlog: number };
  readonly events: Pick<EventFeed, 'stalledMs'>;
  readonly database: Pick<Engine, 'availability' | 'pools'>;
  readonly certificates: { readonly ends: Readonly<Record<string, Date>> } | undefined;
  readonly redis: { readonly isDegraded: boolean } | undefined;
}

const DAY_MS = 86_400_000;

/** One number, or one for each value of a label. */
type Numbers = number | Readonly<Record<string, number>>;

function dependencyMetrics(
  registry: Registry,
  dataDir: string,
  { server, recorder, events, database: { availability, pools }, certificates, redis }: Dependencies,
): void {
  const add = (name: string, help: string, read: () => Numbers, label = '') => {
    const metric: Gauge = new Gauge({
      name: `${NAME}_${name}`,
      help,
      labelNames: label === '' ? [] : [label],
      registers: [registry],
      collect() {
        metric.reset();
        const numbers = read();
        if (typeof numbers === 'number') metric.inc(numbers);
        else for (const [value, number] of Object.entries(numbers)) metric.inc({ [label]: value }, number);
      },
    });
  };
  add('grpc_open_calls', 'Open calls, until their streams are closed.', () => server.openCalls(), 'kind');
  add('usage_backlog_rows', 'Counts and bans that are not stored yet.', () => recorder.backlog);
  add('events_stalled_seconds', 'For how long a newer event could not be read.', () => events.stalledMs / 1_000);
  add('database_up', '0 while the database is unavailable or full.', () => (availability.isAway ? 0 : 1));
  const freeShare = () => {
    const { bavail, blocks } = statfsSync(dataDir);
    return bavail / blocks;
  };
  add('data_free_ratio', 'The free share of the disk of DATA_DIR, from 0 to 1.', freeShare);
  const daysLeft = () => {
    const ends = Object.entries(certificates?.ends ?? {});
    return Object.fromEntries(ends.map(([setting, end]) => [setting, (end.getTime() - Date.now()) / DAY_MS]));
  };
  add('certificate_days_left', 'Days until the first certificate of a file ends.', daysLeft, 'setting');
  if (pools !== undefined) {
    const ofPools = (name: string, help: string, read: (pool: PoolUse) => number) => {
      const readAll = () => Object.fromEntries(Object.entries(pools).map(([pool, use]) => [pool, read(use)]));
      add(`database_pool_${name}`, help, readAll, 'pool');
    };
    ofPools('connections', 'Maximum of connections to PostgreSQL.', ({ size }) => size);
    ofPools('in_use', 'Connections to PostgreSQL that calls use.', ({ inUse }) => inUse);
    ofPools('waiting', 'Calls that wait for a connection to PostgreSQL.', ({ waiting }) => waiting);
  }
  if (redis !== undefined) {
    add('redis_up', '0 while this server counts the limits by itself.', () => (redis.isDegraded ? 0 : 1));
  }
}
