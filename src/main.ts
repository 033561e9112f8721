/** The server process: settings, storage, keys, server; then wait for the signal to stop, drain, close, exit 0. */

import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { TRY_AGAIN } from './config/constants.ts';
import { type Config, ConfigError, readConfig } from './config.ts';
import { diskFull, isDiskFull, makePrivate, PRIVATE_UMASK } from './files/private-folder.ts';
import { mutualTls } from './grpc/mutual-tls.ts';
import { createApiKeyCache, type KeyChange } from './keys/api-key-cache.ts';
import { ensureDemoKey, ensureOperatorKey } from './keys/key-files.ts';
import { createMemoryLimiter, type MemoryLimiterOptions } from './limits/memory.ts';
import { createUsageRecorder, restoreLimits } from './limits/usage-recorder.ts';
import { startUsageRetention } from './limits/usage-retention.ts';
import { LogFile } from './logging/log-file.ts';
import { createLogger, hideKeys } from './logging/logger.ts';
import { createServer } from './server.ts';
import { openEngine } from './storage/open.ts';
import { startRetention } from './storage/retention.ts';
import { createStore, type Store } from './storage/store.ts';
import { StoreUnavailable } from './storage/store-errors.ts';
import { traceLimiter } from './tracing/limiter.ts';
import { traceStore } from './tracing/store.ts';

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  // grpc-js writes to stderr, with its value, each header that it can't parse; anybody can send one.
  setLogVerbosity(logVerbosity.NONE);
  const config = readConfig();
  await makePrivate(config.dataDir);
  const logFile = new LogFile(config.logFile);
  const tracing =
    config.traces &&
    (await import('./tracing/otel.ts')).startTracing(config.traces, {
      onAway: (cause) => logger.warn({ cause }, 'traces can not be sent: spans are dropped until they can'),
      onBack: () => logger.info('traces are sent again'),
    });
  const logger = createLogger(config, logFile, tracing?.traceId);
  const tls = config.internalTls && (await mutualTls(config.internalTls, logger));
  const auditFile = config.auditFile === undefined ? logFile : new LogFile(config.auditFile);

  const metrics = config.metrics && (await import('./metrics/metrics.ts')).createMetrics();

  const engine = await openEngine(config, logger, metrics?.commits);
  const untraced = createStore(engine);
  const system = config.databaseUrl === undefined ? 'sqlite' : 'postgresql';
  const store = tracing === undefined ? untraced : traceStore(untraced, tracing, system);
  const operatorKey = await makeKeys(config, store);

  const { ban, plans, addressPerMinute, maxAddresses } = config.limits;
  const limiterOptions: MemoryLimiterOptions = {
    ban,
    addresses: { perMinute: addressPerMinute, maxTracked: maxAddresses },
    onBan: (begun) => usage.recordBan(begun),
  };
  const redisLimiter =
    config.redis &&
    (await (await import('./limits/redis.ts')).openRedisLimiter({ ...limiterOptions, redis: config.redis, logger }));
  const tracedLimiter = redisLimiter && tracing ? traceLimiter(redisLimiter, tracing) : redisLimiter;
  const limiter = tracedLimiter ?? createMemoryLimiter(limiterOptions);
  const usage = createUsageRecorder(store, limiter, logger);
  await restoreLimits(store, limiter, Date.now());
  const usageRetention = startUsageRetention({ store, days: config.usageDays, logger });
  const idempotencyRetention = startRetention({
    what: 'idempotency records',
    deletePortion: (maxRows) =>
      store.write(({ idempotency }) => idempotency.deleteOldest(maxRows, Date.now() - config.idempotencyMs)),
    logger,
  });

  const keys = createApiKeyCache(store.accounts, plans);
  const keyInvalidation =
    config.redis &&
    (await import('./keys/key-invalidation.ts')).createKeyInvalidation(
      config.redis,
      keys.invalidate,
      limiter.forgetBan,
    );
  const onKeysChanged = (change: KeyChange) => {
    keys.invalidate(change);
    keyInvalidation?.publish(change);
  };
  const flushUsage = usage.flush;
  const server = createServer({
    store,
    keys,
    onKeysChanged,
    limiter,
    banMs: ban.durationMs,
    onUnban: (ended) => keyInvalidation?.publishUnban(ended),
    plans,
    operatorKey,
    flushUsage,
    logger,
    tracing,
    auditLog: createLogger({ ...config, logLevel: 'info' }, auditFile, tracing?.traceId),
    metrics: metrics?.calls,
  });
  const readings = { keyCache: keys, usage, database: engine.state, redis: redisLimiter };
  const onScrapeFailure = (error: unknown) => logger.error({ err: error }, 'the metrics could not be gathered');
  const metricsListener = config.metrics && (await metrics?.listen(config.metrics, readings, onScrapeFailure));
  const stopped = nextSignal(); // before anybody can call
  const port = await server.listen(config.grpcHost, config.grpcPort, tls);
  const data = config.databaseUrl === undefined ? 'SQLite' : 'PostgreSQL';
  const counts = config.redis === undefined ? 'in memory, per instance' : 'in Redis';
  logger.info({ host: config.grpcHost, port, tls: tls !== undefined, data, limits: counts }, 'serving');
  if (process.connected) process.send?.({ port }); // the launcher waits for it
  process.on('message', (message) => {
    if (message === 'are you there?' && process.connected) process.send?.('yes');
    if (message === 'reopen') for (const file of new Set([logFile, auditFile])) file.reopen();
    if (message !== 'leave') return;
    logger.info('leaving');
    void server.leave(); // the launcher looks itself whether Envoy knows
  });

  const signal = await stopped;
  logger.info({ signal }, 'draining');
  if (signal === 'SIGTERM' && !process.connected) await server.leave(); // a launcher has seen to it
  await server.drain();
  await Promise.all([usage.close(), usageRetention.close(), idempotencyRetention.close()]);
  await Promise.all([limiter.close(), keyInvalidation?.close()]);
  await store.close();
  await metricsListener?.close();
  await tracing?.close();
  logger.info('stopped');
  if (process.connected) process.disconnect?.();
}

/** Makes those keys that are not there yet. Resolves with the operator's. */
async function makeKeys({ demoAccount, operatorKey, dataDir, databaseUrl }: Config, store: Store): Promise<string> {
  try {
    if (demoAccount) await ensureDemoKey(store, dataDir);
    return operatorKey ?? (await ensureOperatorKey(dataDir));
  } catch (error) {
    if (databaseUrl !== undefined && error instanceof StoreUnavailable) {
      throw new ConfigError(`DATABASE_URL can't be used: ${error.message}`, { cause: error });
    }
    throw isDiskFull(error) || error instanceof StoreUnavailable ? diskFull(dataDir, error) : error;
  }
}

/** Resolves with the signal to stop; a launcher that is gone is one too. */
function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, () => resolve(signal));
    if (process.send !== undefined && !process.connected) resolve('disconnect'); // it went amid the start
  });
}

process.on('uncaughtException', fail);
await main().catch(fail);

function fail(error: unknown): void {
  process.stderr.write(hideKeys(`petstore: ${describe(error)}\n`));
  process.exit(mayPass(error) ? TRY_AGAIN : 1); // whatever a start that failed half-way has left open
}

/** Whether the same start may go well later. */
function mayPass(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((one) => one instanceof StoreUnavailable || isDiskFull(one));
}

function describe(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
