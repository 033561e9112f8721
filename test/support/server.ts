/** A gRPC server in this process, with a database of its own: the one place that knows what createServer takes. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import pino from 'pino';
import { readConfig } from '../../src/config.ts';
import { createApiKeyCache } from '../../src/keys/api-key-cache.ts';
import { generateKey } from '../../src/keys/format.ts';
import { demoKeyFile, ensureDemoKey } from '../../src/keys/key-files.ts';
import { createMemoryLimiter } from '../../src/limits/memory.ts';
import { createUsageRecorder } from '../../src/limits/usage-recorder.ts';
import { createServer } from '../../src/server.ts';
import { createStore, type Store } from '../../src/storage/store.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { GrpcCaller } from './grpc-caller.ts';
import { UNLIMITED } from './unlimited.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line is whatever was logged
export type LogLine = any;

export interface TestServer {
  readonly store: Store;
  readonly database: TestDatabase;
  /** `host:port`. */
  readonly address: string;
  readonly key: string;
  /** Calls it with the key. */
  readonly grpc: GrpcCaller;
  /** What it has logged, at `debug` and above. */
  readonly logs: readonly LogLine[];
  drain(): Promise<void>;
  /** Stops it and removes the database. */
  close(): Promise<void>;
}

export async function startTestServer(settings: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const { limits } = readConfig({ ...UNLIMITED, ...settings });
  const logs: LogLine[] = [];
  const logger = pino({ level: 'debug', base: null }, { write: (line: string) => logs.push(JSON.parse(line)) });
  const database = await createTestDatabase();
  const dataDir = dirname(database.file);
  const store = createStore(await database.open());
  await ensureDemoKey(store, dataDir);

  const { plans, addressPerMinute, maxAddresses, ban } = limits;
  const limiter = createMemoryLimiter({ ban, addresses: { perMinute: addressPerMinute, maxTracked: maxAddresses } });
  const usage = createUsageRecorder(store, limiter, logger);
  const keys = createApiKeyCache(store.accounts, plans);
  const server = createServer({
    store,
    keys,
    onKeysChanged: keys.invalidate,
    limiter,
    banMs: ban.durationMs,
    onUnban: () => undefined,
    plans,
    operatorKey: generateKey('pso'),
    flushUsage: usage.flush,
    logger,
    auditLog: logger,
  });
  const address = `127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
  const key = (await readFile(demoKeyFile(dataDir), 'utf8')).trim();
  const grpc = new GrpcCaller(address, key);
  return {
    store,
    database,
    address,
    key,
    grpc,
    logs,
    drain: () => server.drain(),
    async close() {
      grpc.close();
      await server.drain();
      await usage.close().catch(() => undefined); // a test may have closed the store
      await store.close().catch(() => undefined);
      await database.remove();
    },
  };
}
