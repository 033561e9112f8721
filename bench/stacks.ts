/** The services that are measured: each with a database, ports and a folder of its own. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { type Config, readConfig } from '../src/config.ts';
import { logDir } from '../src/launcher/paths.ts';
import { startStack } from '../src/launcher/stack.ts';
import { openEngine } from '../src/storage/open.ts';
import { freePortRange, freePorts } from '../test/support/ports.ts';
import type { Processes } from './cpu.ts';
import { fillDatabase } from './fill.ts';
import { LOAD_ENV, loadKey } from './key.ts';
import { withLogs } from './logs.ts';
import { formatCount } from './numbers.ts';
import { settle } from './postgres.ts';
import type { Progress } from './progress.ts';
import type { Way } from './rows.ts';
import type { Shared } from './shared.ts';

/** The programs that a request may need, in the order of the table. */
export const PROGRAMS = ['server', 'envoy', 'postgres', 'redis'] as const;
export type Program = (typeof PROGRAMS)[number];
/** The processes whose CPU time is counted. */
export type Counted = Readonly<Partial<Record<Program, Processes>>>;

export interface BenchStack {
  readonly url: string;
  readonly key: string;
  readonly counted: Counted;
  /** Rejects when a process ends by itself. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** The service itself. */
export interface ServiceStack extends BenchStack {
  /** Where Envoy's statistics are. */
  readonly statisticsUrl: string;
}

export interface StackSetup {
  /** The folder that the stack's own is made in. */
  readonly parent: string;
  readonly instances: number;
  readonly shared: Shared;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/** Fills a database and starts the service on it. */
export async function startBenchStack(way: Way, setup: StackSetup): Promise<ServiceStack> {
  const { parent, instances, shared, progress } = setup;
  const dataDir = join(parent, way.name.replace(/\W+/g, '-'));
  await mkdir(dataDir);
  const [port, adminPort] = await freePorts(2);
  const env = { ...LOAD_ENV, ...shared.nextSettings(), ...way.env };
  const config = readConfig({
    ENVOY: process.env.ENVOY,
    PORT: String(port),
    GRPC_PORT: String(await freePortRange(instances)),
    INSTANCES: String(instances),
    ENVOY_ADMIN_PORT: String(adminPort),
    DATA_DIR: dataDir,
    ...env,
  });
  await fill(config, way.pets, setup);
  const servers = instances === 1 ? 'the service' : `${instances} servers`;
  progress.update(`Starting ${servers} on ${formatCount(way.pets)} pets …`);
  const serverLogs = Array.from({ length: instances }, (_, index) => `server-${index + 1}.log`);
  const names = [...(instances === 1 ? ['server.log'] : serverLogs), 'envoy.log'];
  const explain = async (error: unknown): Promise<never> => {
    throw await withLogs(
      error,
      names.map((name) => join(logDir(config), name)),
    );
  };
  const stack = await startStack(config, env, { program: way.program }).catch(explain);
  // One of several servers would be started again, as a process that nobody counts.
  const ended = Promise.race([stack.ended, ...stack.servers.map((server) => server.failure())]).catch(explain);
  ended.catch(() => undefined); // whoever measures looks at it
  const stop = async () => {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const counted = { server: { pids: stack.servers.map(pidOf) }, envoy: { pids: [pidOf(stack.envoy)] } };
    const key = await loadKey(dataDir);
    const [url, statisticsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}`];
    return { url, statisticsUrl, key, counted: { ...counted, ...shared.counted }, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(config: Config, pets: number, { signal, progress }: StackSetup): Promise<void> {
  const what = `a database with ${formatCount(pets)} pets`;
  const engine = await openEngine(config, pino({ level: 'silent' }));
  try {
    await fillDatabase(engine, pets, signal, (done) => {
      progress.update(`Filling ${what}: ${Math.floor((100 * done) / pets)} %`);
    });
  } finally {
    await engine.close();
  }
  if (config.databaseUrl === undefined) return;
  progress.update(`Filling ${what}: vacuum and analyze`);
  await settle(config.databaseUrl);
}

export function pidOf(child: {
  readonly name: string;
  readonly process: { readonly pid?: number | undefined };
}): number {
  if (child.process.pid === undefined) throw new Error(`${child.name} has no process`);
  return child.process.pid;
}
