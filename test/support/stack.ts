/** The real service for a test file: a server, an Envoy and a database of its own, on free ports, in a temporary folder. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, ConfigError, readConfig } from '../../src/config.ts';
import { demoKeyFile } from '../../src/keys/key-files.ts';
import { type Stack, startStack } from '../../src/launcher/stack.ts';
import { freePortRange, freePorts } from './ports.ts';
import { RestClient } from './rest-client.ts';
import { UNLIMITED } from './unlimited.ts';

export interface TestStack {
  readonly config: Config;
  readonly stack: Stack;
  /** A valid key, of the demo account. */
  readonly key: string;
  /** Calls the REST side through Envoy with the key. */
  readonly rest: RestClient;
  /** `host:port` of the gRPC server itself. */
  readonly grpcAddress: string;
  /** `host:port` of Envoy's public port. */
  readonly publicAddress: string;
  /** Stops everything and removes the folder. Call it in `test.after.always`. */
  close(): Promise<void>;
}

/** `program` is another server than ours. */
export async function startTestStack(
  settings: Readonly<Record<string, string>> = {},
  program?: string,
): Promise<TestStack> {
  const env = { ...UNLIMITED, ...settings };
  const dataDir = await mkdtemp(join(tmpdir(), 'petstore-test-'));
  const { config, stack } = await startOnFreePorts(dataDir, env, program);
  const key = program === undefined ? (await readFile(demoKeyFile(dataDir), 'utf8')).trim() : 'none';
  return {
    config,
    stack,
    key,
    rest: new RestClient(`http://127.0.0.1:${config.port}`, key),
    grpcAddress: `127.0.0.1:${config.grpcPort}`,
    publicAddress: `127.0.0.1:${config.port}`,
    async close() {
      stack.ended.catch(() => undefined); // a test may have ended a process on purpose
      await stack.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** What is no test of ours may take a port between the look and the use: then others are taken. */
async function startOnFreePorts(
  dataDir: string,
  env: Readonly<Record<string, string>>,
  program: string | undefined,
  attempts = 3,
) {
  const [port, adminPort] = await freePorts(2);
  const grpcPort = await freePortRange(Number(env.INSTANCES ?? 1));
  const config = readConfig({
    PORT: String(port),
    GRPC_PORT: String(grpcPort),
    ENVOY_ADMIN_PORT: String(adminPort),
    DATA_DIR: dataDir,
    LOG_LEVEL: 'debug',
    ENVOY: process.env.ENVOY,
    ...env,
  });
  try {
    return { config, stack: await startStack(config, env, { program }) };
  } catch (error) {
    const isPortBusy = error instanceof ConfigError && error.message.includes(' is busy: ');
    if (!isPortBusy || attempts === 1) throw error;
    return startOnFreePorts(dataDir, env, program, attempts - 1);
  }
}
