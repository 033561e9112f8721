/**
 * `npm run bench:overload`: what becomes of the service when it is asked for more than it can do. What it answers it
 * must answer soon, the rest it must refuse at once, and afterwards all must be as before.
 *
 * A benchmark and not a test: what does not hold is marked, and does not make it fail.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OverloadGenerator } from './overload-load.ts';
import { OVERLOAD_HELP, type OverloadOptions, readOverloadOptions } from './overload-options.ts';
import { measureOverload, type OverloadResults, WAY } from './overload-rows.ts';
import { formatOverloadJson, formatOverloadTable } from './overload-table.ts';
import { moveTo, onCore, twoCores } from './pinning.ts';
import { createProgress, type Progress } from './progress.ts';
import { interruption, rejection, runAsProgram } from './running.ts';
import { NO_DATABASES } from './shared.ts';
import { startBenchStack } from './stacks.ts';

async function main(): Promise<void> {
  const options = readOverloadOptions(process.argv.slice(2));
  if (options === undefined) {
    process.stdout.write(OVERLOAD_HELP);
    return;
  }
  const results = await bench(options, interruption(), createProgress());
  process.stdout.write(options.json ? formatOverloadJson(results, options) : formatOverloadTable(results, options));
}

/** Leaves neither process nor folder behind, however it ends. */
async function bench(options: OverloadOptions, signal: AbortSignal, progress: Progress): Promise<OverloadResults> {
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => progress.clear());
  const folder = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  const cores = twoCores();
  if (cores !== undefined) moveTo(cores.service); // and so the processes that are started from here
  const setup = { parent: folder, instances: 1, shared: NO_DATABASES, signal, progress };
  const stack = await startBenchStack(WAY, setup);
  cleanUp.defer(() => stack.stop());
  signal.throwIfAborted();
  if (cores !== undefined) moveTo(cores.generator);
  const load = new OverloadGenerator(folder, cores === undefined ? [] : onCore(cores.generator));
  cleanUp.defer(() => load.stop());
  const measured = measureOverload({ stack, load, cores, progress, ...options });
  measured.catch(() => undefined); // it fails too when something else has ended all
  return await Promise.race([measured, rejection(signal), stack.ended.then(() => measured)]);
}

await runAsProgram('bench:overload', main);
