/** `npm run bench:overload`: how the service behaves when it is asked for more than it can do. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCommand, integer, number, rejectOnAbort, run } from '../test/support/command-line.ts';
import { LoadGenerator } from './load.ts';
import { measureOverload } from './overload-measure.ts';
import { formatOverloadReport } from './overload-report.ts';
import { moveTo, onCore, twoCores } from './pinning.ts';
import { createProgress } from './progress.ts';
import { HUNDRED_THOUSAND } from './scenarios.ts';
import { startBenchStack } from './stacks.ts';

export interface Options {
  readonly seconds: number;
  readonly connections: number;
}

const command = createCommand(
  'bench:overload',
  `Starts the whole service (Envoy, server, SQLite in a temporary folder), measures how much it can take, then offers
a quarter, a half, three quarters, 1, 2, 5 and 10 times that: requests are due at fixed times, whatever the responses
are. Prints how many were answered, how many were shed, and how fast. At last 2,000 clients come at once, each with
one request at a time, and wait for as long as a 503 tells them. The service has one core and the load generator
another, if taskset is installed. It takes some three minutes. Ctrl-C stops it cleanly. It needs Linux.`,
)
  .option('--seconds <n>', 'how long each load is offered', number(1, 600), 5)
  .option('--connections <n>', 'open requests at a time; more are due, but not sent', integer(100, 4_000), 1_000)
  .addHelpText(
    'after',
    '\nTMPDIR is where the database is made: it should be on a real disk. ENVOY names another Envoy.',
  );

async function main(options: Options, signal: AbortSignal): Promise<void> {
  const progress = createProgress();
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => progress.clear());
  const folder = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
  cleanUp.defer(() => rm(folder, { recursive: true, force: true }));
  const cores = twoCores();
  if (cores !== undefined) moveTo(cores.service); // processes inherit the core
  const stack = await startBenchStack(HUNDRED_THOUSAND, { instances: 1, shared: undefined, signal, progress });
  cleanUp.defer(() => stack.stop());
  signal.throwIfAborted();
  if (cores !== undefined) moveTo(cores.generator);
  const load = new LoadGenerator(folder, cores === undefined ? [] : onCore(cores.generator));
  cleanUp.defer(() => load.stop());
  const measured = measureOverload({ stack, load, progress, ...options });
  const results = await Promise.race([measured, rejectOnAbort(signal), stack.failure]);
  progress.clear();
  process.stdout.write(formatOverloadReport(results, options, cores));
}

await run(command, main);
