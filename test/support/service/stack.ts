/** The whole service for a test or a benchmark: server, Envoy and database, on free ports, in a temporary folder. */
import { readFile } from 'node:fs/promises';
import { demoKeyFile, operatorKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import { type Config, ConfigError, readConfig } from '../../../src/platform/config/config.ts';
import { startStack } from '../../../src/platform/launcher/stack.ts';
import { GrpcCaller } from '../calls/grpc-caller.ts';
import { Operator } from '../calls/operator.ts';
import { RestClient } from '../calls/rest-client.ts';
import { startPostgres } from '../machine/postgres.ts';
import { freePorts, type Scope, temporaryFolder } from '../scope.ts';
import { type Settings, UNLIMITED } from './process.ts';

export type TestStack = Awaited<ReturnType<typeof startTestStack>>;

export interface StackOptions {
  /** A program that replaces the server. It has no key. */
  readonly program?: string;
  /** Runs before the start, for instance to fill the database. */
  readonly prepare?: (config: Config) => Promise<void>;
}

/** With `TEST_ENGINE=postgres` it uses a PostgreSQL of its own, unless the settings name a database. */
export async function startTestStack(t: Scope, settings: Settings = {}, { program, prepare }: StackOptions = {}) {
  const isOnPostgres = process.env.TEST_ENGINE === 'postgres' && settings.DATABASE_URL === undefined;
  const env = { ...UNLIMITED, ...(isOnPostgres && (await onPostgres(t))), ...settings };
  const dataDir = temporaryFolder(t);
  await prepare?.(readConfig({ DATA_DIR: dataDir, ...env }));
  const { config, stack } = await startOnFreePorts(dataDir, env, program);
  stack.ended.catch(() => undefined); // a test may end a process on purpose
  t.teardown(() => stack.stop());
  const keyIn = async (file: string) => (program === undefined ? (await readFile(file, 'utf8')).trim() : 'none');
  const key = await keyIn(demoKeyFile(dataDir));
  const grpc = new GrpcCaller(`127.0.0.1:${config.port}`, key);
  const grpcAddress = `127.0.0.1:${config.grpcPort}`;
  const operator = new Operator(grpcAddress, config.operatorKey ?? (await keyIn(operatorKeyFile(dataDir))));
  for (const caller of [grpc, operator]) t.teardown(() => caller.close());
  return {
    config,
    stack,
    key,
    /** Calls it through Envoy over gRPC with the key. */
    grpc,
    rest: new RestClient(
      `http://127.0.0.1:${config.port}`,
      key,
      stack.servers.map(({ log }) => log.path),
    ),
    operator,
    grpcAddress,
    publicAddress: `127.0.0.1:${config.port}`,
  };
}

/** Settings of a service with a PostgreSQL of its own. */
export async function onPostgres(t: Scope): Promise<Settings> {
  return { DATABASE_URL: (await startPostgres(t)).url, DEMO_ACCOUNT: 'yes' };
}

/** Tries again when another program has taken a port since it was found free. */
async function startOnFreePorts(dataDir: string, env: Settings, program: string | undefined, attempts = 3) {
  const [port, adminPort, grpcPort] = await freePorts(2 + Number(env.INSTANCES ?? 1));
  const ports = { PORT: String(port), GRPC_PORT: String(grpcPort), ENVOY_ADMIN_PORT: String(adminPort) };
  const config = readConfig({ ...ports, DATA_DIR: dataDir, LOG_LEVEL: 'debug', ENVOY: process.env.ENVOY, ...env });
  try {
    return { config, stack: await startStack(config, env, { program }) };
  } catch (error) {
    const isPortBusy = error instanceof ConfigError && error.message.includes(' is busy: ');
    if (isPortBusy && attempts > 1) return startOnFreePorts(dataDir, env, program, attempts - 1);
    throw error;
  }
}
