/** `npm run bench`: what a request costs, compared with the least that it can cost, and with a million pets. */
import { statfs } from 'node:fs/promises';
import { Option } from 'commander';
import { CommandFailed, createCommand, integer, run } from '../scripts/command-line.ts';
import { scopeOf, temporaryFolder } from '../test/support/scope.ts';
import { type Shared, sharedMissing, startShared } from '../test/support/service/shared.ts';
import { toColumns } from './columns.ts';
import { measureFairness } from './fairness.ts';
import { startFloor } from './floor/stack.ts';
import { type Measurement, measureScenario, ROUNDS } from './measure.ts';
import { measurePrices, startPriced } from './prices.ts';
import { formatTable, missedBounds } from './report.ts';
import { SCENARIOS, type Variant } from './scenarios.ts';
import { type BenchStack, processesOf, startBenchStack } from './stacks.ts';
import { wrkMissing } from './wrk.ts';

/** The file system type of tmpfs, as statfs(2) has it. */
const TMPFS = 0x01021994;
/** Each server has a pool of connections, and each database some more while it is filled. */
const CONNECTIONS_PER_SERVER = 16;
/** The load that the bounds are for. */
const CONNECTIONS = 64;

interface Options {
  readonly seconds: number;
  readonly connections: number;
  readonly engine: 'sqlite' | 'postgres';
  readonly instances: number;
  readonly only: readonly string[];
}

const names = SCENARIOS.map(({ name }) => name);
/** No scenarios: each has a service of its own, filled in another way, and so many callers. */
const LISTS = { prices: { measure: measurePrices, accounts: 32 }, fairness: { measure: measureFairness, accounts: 1 } };

const command = createCommand(
  'bench',
  `Starts the whole service (Envoy, server, a database in a temporary folder) and its floor (an Envoy that only
transcodes, before a grpc-js server that only reads a map), loads them over HTTP in turn, and prints requests per
second, latency, and CPU time per request of each program. It takes some five minutes. The exit code is 1 when one
server on SQLite misses a bound with ${CONNECTIONS} connections. Ctrl-C stops it cleanly. It needs Linux and wrk.`,
)
  .option('--seconds <n>', 'how long each round takes', integer(1, 600), 2)
  .option('--connections <n>', 'connections, each with one open request', integer(1, 1_000), CONNECTIONS)
  .addOption(new Option('--engine <name>', 'the database').choices(['sqlite', 'postgres']).default('sqlite'))
  .option('--instances <n>', 'servers behind Envoy; more than 1 need --engine postgres', integer(1, 16), 1)
  .addOption(
    new Option('--only <name...>', 'only these scenarios')
      .choices([...names, ...Object.keys(LISTS)])
      .default(names, 'all'),
  )
  .addHelpText(
    'after',
    `
Scenarios, each with ${ROUNDS} rounds of each variant:
${toColumns(SCENARIOS.map(({ name, title }) => [`  ${name}`, title])).join('\n')}

By themselves, with the rules of docs/sizing.md, and exit code 1 when one is broken:
  prices    what the dearest form of each kind of request and each operation costs, as a multiple of an ordinary one
  fairness  the latency of one account's requests beside each of the dearest forms of another's

With --engine postgres the service uses PostgreSQL, as durable as in production, and counts the limits in Redis. Both
are started for the benchmark. TMPDIR is where databases are made: it should be on a real disk. ENVOY names another
Envoy.`,
  );

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(options: Options, signal: AbortSignal): Promise<void> {
  const { engine, instances, connections, only } = options;
  const [list] = Object.entries(LISTS).flatMap(([name, one]) => (only.includes(name) ? [one] : []));
  if (list !== undefined) return check(options, list);
  if (wrkMissing !== undefined) throw new CommandFailed(wrkMissing);
  if (engine === 'sqlite' && instances > 1) throw new CommandFailed('--instances above 1 needs --engine postgres');
  if (engine === 'postgres' && sharedMissing !== undefined) throw new CommandFailed(sharedMissing);
  const results = await bench(options, signal);
  const hasBounds = engine === 'sqlite' && connections === CONNECTIONS;
  const missed = hasBounds ? missedBounds(results) : [];
  process.stdout.write(`${[...formatTable(results), ...missed].join('\n')}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

/** Prints a list. The exit code is 1 when a row of it is above its rule. */
async function check({ engine, instances }: Options, { measure, accounts }: (typeof LISTS)['prices']) {
  await using cleanUp = new AsyncDisposableStack();
  const t = scopeOf(cleanUp);
  const shared = engine === 'postgres' ? await startShared(t) : undefined;
  const settings = { INSTANCES: String(instances), ...(await shared?.settings()) };
  const running = await startPriced(t, settings, accounts, shared && (await processesOf(shared)));
  const { text, broken } = await measure(t, running, say);
  process.stdout.write(`${[...text, '', ...broken].join('\n')}\n`);
  if (broken.length > 0) process.exitCode = 1;
}

/** Starts what the scenarios need, measures them, and stops and removes everything. */
async function bench(options: Options, signal: AbortSignal): Promise<Measurement[]> {
  await using cleanUp = new AsyncDisposableStack();
  const t = scopeOf(cleanUp);
  const folder = temporaryFolder(t);
  if ((await statfs(folder)).type === TMPFS) {
    say(`${folder} is in memory, where nothing is durable. Set TMPDIR to a folder on a disk to measure POST.`);
  }

  const { engine, instances, only } = options;
  const scenarios = SCENARIOS.filter(({ name }) => only.includes(name));
  const variants = new Set(scenarios.flatMap((scenario) => scenario.variants));
  let shared: Shared | undefined;
  if (engine === 'postgres') {
    say('Starting PostgreSQL and Redis …');
    shared = await startShared(t, [`max_connections=${variants.size * (instances + 1) * CONNECTIONS_PER_SERVER}`]);
  }
  const stacks = new Map<Variant, BenchStack>();
  for (const variant of variants) {
    signal.throwIfAborted();
    const stack = variant.isFloor
      ? await startFloor(t, variant.pets, instances, folder)
      : await startBenchStack(t, variant, { instances, shared, signal, say });
    stacks.set(variant, stack);
  }
  const stackOf = (variant: Variant) => {
    const stack = stacks.get(variant);
    if (stack === undefined) throw new Error(`${variant.name} was not started`);
    return stack;
  };
  const failure = Promise.race([...stacks.values()].map((stack) => stack.failure));
  const results: Measurement[] = [];
  for (const scenario of scenarios) {
    const measured = measureScenario(scenario, { ...options, stackOf, folder, signal, say });
    results.push(...(await Promise.race([measured, failure])));
  }
  return results;
}

await run(command, main);
