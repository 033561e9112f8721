/**
 * The composition root: makes the parts of a server that the settings ask for, and gives each part the others that it
 * needs. The server process, the tests and the benchmark all start here.
 */
import type { DestinationStream } from 'pino';
import { createApiKeyCache } from './platform/access/keys/api-key-cache.ts';
import { ensureDemoKey, ensureOperatorKey } from './platform/access/keys/key-files.ts';
import { createLimitsRecorder, deleteOldUsage, restoreLimits } from './platform/access/limits/limits-recorder.ts';
import { createMemoryLimiter } from './platform/access/limits/memory.ts';
import type { Config } from './platform/config/config.ts';
import { version } from './platform/config/constants.ts';
import { EventFeed } from './platform/events/feed.ts';
import { createLogger } from './platform/observe/logging/logger.ts';
import { traceStorage } from './platform/observe/tracing/store.ts';
import { explain, openEngine } from './platform/process/database.ts';
import { startRetention } from './platform/process/retention.ts';
import type { Call } from './platform/rpc/chain.ts';
import { mutualTls } from './platform/rpc/mutual-tls.ts';
import { hasOwners } from './platform/tables/owned.ts';
import { createStore } from './platform/tables/store.ts';
import { MIGRATIONS, TABLES } from './schema.ts';
import { createServer } from './server.ts';
import { readShopSettings } from './settings.ts';
import type { ShopSettings } from './shop/settings.ts';

const DAY_MS = 86_400_000;

/** What only some settings ask for is loaded then: it takes time and memory. */
const loadTracing = () => import('./platform/observe/tracing/otel.ts');
const loadMetrics = () => import('./platform/observe/metrics/metrics.ts');
const loadRedis = () => import('./platform/access/limits/redis.ts');

export type Service = Awaited<ReturnType<typeof openService>>;

interface Logs {
  readonly log: DestinationStream;
  readonly auditLog: DestinationStream;
  readonly note?: (call: Call) => void;
  readonly onMigration?: (name: string | undefined) => void;
}

/** @throws ConfigError when a database, folder or file of the settings can't be used; TemporaryFailure, if only now. */
export async function createService(config: Config, logs: Logs, settings = readShopSettings()): Promise<Service> {
  const opened = new AsyncDisposableStack();
  try {
    return await openService(config, { ...logs, settings }, opened);
  } catch (error) {
    await opened.disposeAsync().catch(() => undefined); // the first error says more
    throw explain(error, config);
  }
}

/** Adds each part that has to be closed to `opened`, which closes the last one first. */
async function openService(
  config: Config,
  { log, auditLog, note, onMigration, settings }: Logs & { readonly settings: ShopSettings },
  opened: AsyncDisposableStack,
) {
  const tracing = config.traces && (await loadTracing()).startTracing(config.traces, createLogger(config, log));
  opened.defer(() => tracing?.close());
  const logger = createLogger(config, log, tracing?.traceId);
  const tls = config.internalTls && (await mutualTls(config.internalTls, logger));
  const metrics = config.metrics && (await loadMetrics()).createMetrics(config.dataDir);

  const engine = await openEngine(config, MIGRATIONS, logger, onMigration);
  const system = config.databaseUrl === undefined ? 'sqlite' : 'postgresql';
  const storage = tracing ? traceStorage(engine, TABLES, tracing, system) : { engine, tables: TABLES };
  const store = createStore(storage.engine, storage.tables);
  opened.defer(() => store.close());
  if (config.demoAccount) await ensureDemoKey(store, config.dataDir);
  const operatorKey = config.operatorKey ?? (await ensureOperatorKey(config.dataDir));

  const { ban, plans } = config.limits;
  const shared = config.redis && { ban, redis: config.redis, logger, inSpan: tracing?.inSpan };
  const redis = shared && (await loadRedis().then(({ openRedisLimiter }) => openRedisLimiter(shared)));
  const limiter = redis ?? createMemoryLimiter({ ban });
  opened.defer(() => limiter.close());
  await restoreLimits(store, limiter);
  const recorder = createLimitsRecorder(store, limiter, logger);
  opened.defer(() => recorder.close());
  const stopRetention = startRetention(limiter.now, logger, {
    usage: deleteOldUsage(store, config.usageDays),
    'idempotency records': (maxRows, nowMs) =>
      store.transaction((tx) => tx.idempotency.deleteOldest(maxRows, nowMs, config.idempotencyMs)),
    events: (maxRows, nowMs) =>
      store.transaction((tx) => tx.events.deleteOldest(maxRows, nowMs, config.eventsDays * DAY_MS)),
  });
  opened.defer(stopRetention);

  const onUnreadable = (error: unknown) => logger.warn({ err: error }, 'the events can not be read');
  const events = new EventFeed(store.events, onUnreadable, hasOwners(store));
  store.onWrite(() => events.noteWrite());

  const keys = createApiKeyCache(store.accounts, plans);
  const dependencies = {
    server: { openCalls: () => server.openCalls() },
    recorder,
    events,
    database: engine,
    certificates: tls,
    redis,
  };
  const onScrapeFailure = (error: unknown) => logger.error({ err: error }, 'the metrics could not be gathered');
  const closeMetrics = config.metrics && (await metrics?.listen(config.metrics, dependencies, onScrapeFailure));
  opened.defer(() => closeMetrics?.());
  const server = createServer(config, {
    ...{ store, keys, limiter, operatorKey, recorder, logger, tracing, events, note, settings },
    metrics: metrics?.calls,
    auditLog: createLogger({ ...config, logLevel: 'info' }, auditLog, tracing?.traceId),
  });
  opened.defer(() => server.drain());

  return {
    ...server,
    store,
    logger,
    async listen() {
      const port = await server.listen(tls);
      const data = config.databaseUrl === undefined ? 'SQLite' : 'PostgreSQL';
      const counts = config.redis === undefined ? 'in memory, per instance' : 'in Redis';
      const address = { host: config.grpcHost, port, tls: tls !== undefined };
      logger.info({ version: version(), ...address, data, limits: counts }, 'serving');
      return port;
    },
    /** Drains, stores the counts, and closes all connections. */
    close: () => opened.disposeAsync(),
  };
}
