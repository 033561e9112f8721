/**
 * `npm run bench`: what a request costs, and that it costs no more on a million pets than on a thousand.
 *
 * A benchmark and not a test: a target that is missed is marked, and does not make it fail. An answer that is not 2xx
 * does, and so does anything else that would make the figures wrong.
 */
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasCpuTimes } from './cpu.ts';
import { startFloor } from './floor/stack.ts';
import { LoadGenerator } from './load.ts';
import { type Measured, measureRow } from './measure.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { createProgress, type Progress } from './progress.ts';
import { type Way, waysOf } from './rows.ts';
import { interruption, rejection, runAsProgram } from './running.ts';
import { checkPrograms, startShared } from './shared.ts';
import { type BenchStack, startBenchStack } from './stacks.ts';
import { formatJson, formatTable } from './table.ts';

/** What statfs(2) calls a file system in memory. */
const TMPFS = 0x01021994;

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(HELP);
    return;
  }
  checkPrograms(options);
  const progress = createProgress();
  if (!hasCpuTimes()) progress.note('This system has no /proc: CPU time and what is compared by it are not measured.');
  const results = await bench(options, interruption(), progress);
  process.stdout.write(options.json ? formatJson(results, options) : formatTable(results, options));
}

/** Starts what the rows need, measures them, and leaves neither process nor folder behind, however it ends. */
async function bench(options: Options, signal: AbortSignal, progress: Progress): Promise<Measured[]> {
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => progress.clear());
  const folder = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));

  if ((await statfs(folder)).type === TMPFS) {
    progress.note(
      `${folder} is in memory, where nothing is durable: for the cost of a POST set TMPDIR to a real disk.`,
    );
  }

  const ways = new Map(options.rows.flatMap(waysOf).map((way) => [way.name, way]));
  const services = [...ways.values()].filter(({ isFloor }) => !isFloor);
  const shared = await startShared(options, services.length, folder, cleanUp, progress);
  signal.throwIfAborted();
  const stacks = new Map<string, BenchStack>();
  for (const way of ways.values()) {
    const { instances } = options;
    const stack = way.isFloor
      ? await startFloor(way.pets, await mkdtemp(join(folder, 'floor-')))
      : await startBenchStack(way, { parent: folder, instances, shared, signal, progress });
    cleanUp.defer(() => stack.stop());
    stacks.set(way.name, stack);
    signal.throwIfAborted();
  }
  const load = new LoadGenerator(folder);
  cleanUp.defer(() => load.stop()); // first of all: then no request is open when the services stop

  const stackOf = (way: Way) => {
    const stack = stacks.get(way.name);
    if (stack === undefined) throw new Error(`${way.name} was not started`);
    return stack;
  };
  const broken = Promise.race([rejection(signal), ...[shared, ...stacks.values()].map(({ ended }) => ended)]);
  const results: Measured[] = [];
  for (const row of options.rows) {
    const measured = await Promise.race([measureRow(row, { load, stackOf, progress, ...options }), broken]);
    if (measured !== undefined) results.push(...measured);
  }
  return results;
}

await runAsProgram('bench', main);
