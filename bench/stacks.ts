/** The services that are measured: each with a database, ports and a folder of its own. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '../src/config.ts';
import { logDir } from '../src/launcher/places.ts';
import { startStack } from '../src/launcher/stack.ts';
import { freePorts } from '../test/support/ports.ts';
import { fillDatabase } from './fill.ts';
import { LOAD_ENV, loadKey } from './key.ts';
import { withLogs } from './logs.ts';
import { formatCount } from './numbers.ts';
import type { Progress } from './progress.ts';
import type { Way } from './rows.ts';

export interface BenchStack {
  readonly url: string;
  readonly key: string;
  /** The processes whose CPU time is counted. */
  readonly pids: Pids;
  /** Rejects when a process ends by itself. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface Pids {
  readonly server: number;
  readonly envoy: number;
}

/** Fills a database in a new folder below `parent` and starts the service on it. */
export async function startBenchStack(
  way: Way,
  parent: string,
  signal: AbortSignal,
  progress: Progress,
): Promise<BenchStack> {
  const dataDir = join(parent, way.name.replace(/\W+/g, '-'));
  await mkdir(dataDir);
  const total = formatCount(way.pets);
  await fillDatabase(dataDir, way.pets, signal, (done) => {
    progress.update(`Filling a database with ${total} pets: ${Math.floor((100 * done) / way.pets)} %`);
  });
  progress.update(`Starting the service on ${total} pets …`);
  const [port, grpcPort, adminPort] = await freePorts(3);
  const env = { ...LOAD_ENV, ...way.env };
  const config = readConfig({
    ENVOY: process.env.ENVOY,
    PORT: String(port),
    GRPC_PORT: String(grpcPort),
    ENVOY_ADMIN_PORT: String(adminPort),
    DATA_DIR: dataDir,
    ...env,
  });
  const logs = ['server.log', 'envoy.log'].map((name) => join(logDir(config), name));
  const explain = async (error: unknown): Promise<never> => {
    throw await withLogs(error, logs);
  };
  const stack = await startStack(config, env, { program: way.program }).catch(explain);
  const ended = stack.ended.catch(explain);
  ended.catch(() => undefined); // whoever measures looks at it
  const stop = async () => {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const pids = { server: pidOf(stack.servers[0]), envoy: pidOf(stack.envoy) };
    return { url: `http://127.0.0.1:${port}`, key: await loadKey(dataDir), pids, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function pidOf(child: { readonly name: string; readonly process: { readonly pid?: number | undefined } }): number {
  if (child.process.pid === undefined) throw new Error(`${child.name} has no process`);
  return child.process.pid;
}
