/** A service in this process, with a database of its own. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { demoKeyFile } from '../../src/access/keys/key-files.ts';
import { readConfig } from '../../src/config/config.ts';
import type { Store } from '../../src/schema.ts';
import { createService } from '../../src/service.ts';
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
  const database = await createTestDatabase();
  const dataDir = dirname(database.file);
  const config = readConfig({ ...UNLIMITED, LOG_LEVEL: 'debug', ...settings, DATA_DIR: dataDir });
  const logs: LogLine[] = [];
  const log = { write: (line: string) => logs.push(JSON.parse(line)) };
  const service = await createService({ ...config, grpcPort: 0 }, { log, auditLog: log });
  const { store } = service;
  const address = `127.0.0.1:${await service.listen()}`;
  const key = (await readFile(demoKeyFile(dataDir), 'utf8')).trim();
  const grpc = new GrpcCaller(address, key);
  return {
    store,
    database,
    address,
    key,
    grpc,
    logs,
    drain: () => service.drain(),
    async close() {
      grpc.close();
      await service.close().catch(() => undefined); // a test may have closed the store
      await database.remove();
    },
  };
}
