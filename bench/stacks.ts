/** The services that are measured: each with a database, ports and a folder of its own. */
import pino from 'pino';
import type { Config } from '../src/platform/config/config.ts';
import type { Child } from '../src/platform/launcher/child.ts';
import { openEngine } from '../src/platform/process/database.ts';
import { MIGRATIONS } from '../src/schema.ts';
import type { Processes } from '../test/support/machine/cpu-time.ts';
import { query } from '../test/support/machine/postgres.ts';
import type { Scope } from '../test/support/scope.ts';
import type { Shared } from '../test/support/service/shared.ts';
import { startTestStack, type TestStack } from '../test/support/service/stack.ts';
import { formatCount } from './columns.ts';
import { fillDatabase } from './fill.ts';
import type { Variant } from './scenarios.ts';

/** The demo account's plan: counted as ever, but never exceeded. */
const LIMITS = { BUSINESS_PER_MINUTE: '2147483647', BUSINESS_PER_DAY: '2147483647', DEMO_ACCOUNT: 'yes' };

/** The programs whose CPU time is counted. */
export type Counted = Readonly<Record<string, Processes>>;

export interface BenchStack {
  readonly url: string;
  readonly key: string;
  readonly counted: Counted;
  /** Rejects when a process ends by itself. */
  readonly failure: Promise<never>;
}

export interface StackSetup {
  readonly instances: number;
  /** PostgreSQL and Redis. Without them the service uses SQLite. */
  readonly shared: Shared | undefined;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/** Fills a database and starts the service on it. */
export async function startBenchStack(t: Scope, { name, pets, env }: Variant, setup: StackSetup): Promise<BenchStack> {
  const { instances, shared, say } = setup;
  const databases = shared === undefined ? { DATABASE_URL: '', REDIS_URL: '' } : await shared.settings();
  const settings = { ...LIMITS, INSTANCES: `${instances}`, LOG_LEVEL: 'info', ...databases, ...env };
  const prepare = async (config: Config) => {
    await fill(config, pets, setup);
    say(`Starting the service: ${name} …`);
  };
  const { config, stack, key } = await startTestStack(t, settings, { prepare });
  const counted = { ...programsOf(stack), ...(shared && (await processesOf(shared))) };
  // When one of several servers ends, the launcher would start another, which is not counted.
  const failure = failureOf([...stack.servers, stack.envoy]);
  return { url: `http://127.0.0.1:${config.port}`, key, counted, failure };
}

export function programsOf({ servers, envoy }: TestStack['stack']) {
  return { server: { pids: servers.map(pidOf) }, envoy: { pids: [pidOf(envoy)] } };
}

/** Rejects when one of the processes ends. */
export function failureOf(children: readonly Child[]): Promise<never> {
  const failure = Promise.race(children.map((child) => child.failure()));
  failure.catch(() => undefined); // the measurement races with it
  return failure;
}

export function pidOf({ name, process }: Child): number {
  if (process.pid === undefined) throw new Error(`${name} has no process`);
  return process.pid;
}

export async function processesOf({ postgres, redis }: Shared): Promise<Counted> {
  return {
    postgres: { pids: [await postgres.pid()], withChildren: true },
    redis: { pids: redis.pid === undefined ? [] : [redis.pid] },
  };
}

async function fill(config: Config, pets: number, { signal, say }: StackSetup): Promise<void> {
  say(`Filling a database with ${formatCount(pets)} pets …`);
  const engine = await openEngine(config, MIGRATIONS, pino({ level: 'silent' }));
  await fillDatabase(engine, pets, signal).finally(() => engine.close());
  // Otherwise autovacuum would do it during the measurement, and the planner would not know the size.
  if (config.databaseUrl !== undefined) await query(config.databaseUrl, 'VACUUM (ANALYZE)');
}
