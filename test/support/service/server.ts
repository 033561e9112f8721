/** A service in this process, with a database of its own. */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { demoKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { createService } from '../../../src/service.ts';
import { readShopSettings } from '../../../src/settings.ts';
import { GrpcCaller } from '../calls/grpc-caller.ts';
import { connectOperator } from '../calls/operator.ts';
import { createTestDatabase } from '../machine/database.ts';
import type { Scope } from '../scope.ts';
import { UNLIMITED } from './process.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line is whatever was logged
export type LogLine = any;

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

export async function startTestServer(t: Scope, settings: Readonly<Record<string, string>> = {}) {
  const database = createTestDatabase(t);
  const dataDir = dirname(database.file);
  const config = readConfig({ ...UNLIMITED, LOG_LEVEL: 'debug', ...settings, DATA_DIR: dataDir });
  const logs: LogLine[] = [];
  const log = { write: (line: string) => logs.push(JSON.parse(line)) };
  const service = await createService({ ...config, grpcPort: 0 }, { log, auditLog: log }, readShopSettings(settings));
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= service.close().catch(() => undefined)); // a test may have closed the store
  t.teardown(close);
  const { store } = service;
  const address = `127.0.0.1:${await service.listen()}`;
  const key = config.demoAccount ? (await readFile(demoKeyFile(dataDir), 'utf8')).trim() : '';
  const grpc = new GrpcCaller(address, key);
  t.teardown(() => grpc.close());
  return {
    store,
    database,
    config,
    address,
    key,
    /** Calls it with the key of the demo account. */
    grpc,
    operator: await connectOperator(t, { grpcAddress: address, config }),
    /** What it has logged, at `debug` and above. */
    logs,
    drain: () => service.drain(),
    /** Stops it before the end of the test. */
    close,
  };
}
