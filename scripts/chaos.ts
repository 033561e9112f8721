/**
 * `npm run test:chaos`: random clients, random faults, and a checker of all responses. Each run has its own service,
 * PostgreSQL and Redis, all on loopback.
 */
import { Option } from 'commander';
import { DEPLOYMENTS, type DeploymentName } from '../test/support/chaos/deployment.ts';
import { FAULTS } from '../test/support/chaos/faults.ts';
import { type Report, runChaos } from '../test/support/chaos/run.ts';
import { formatSummary, formatViolations } from '../test/support/chaos/summary.ts';
import { createCommand, integer, number, run } from '../test/support/command-line.ts';
import { createProgress } from '../test/support/progress.ts';

interface Options {
  readonly seed: number;
  readonly seeds: number;
  readonly minutes: number;
  readonly deployment: DeploymentName | 'both';
  readonly only: readonly string[];
}

const MAX_SEED = 9_999_999_999;
const A_WEEK_IN_MINUTES = 10_080;
const names = FAULTS.map(({ name }) => name);

const command = createCommand(
  'test:chaos',
  `Starts the service with its launcher, sends random requests, causes random faults, and then checks all responses:
every acknowledged write is there, every read is consistent with an order of the writes, followers got every event of
this order, no unit was lost or sold twice, no account exceeded its limit, usage is the number of admitted requests,
and the service was healthy 10 seconds after the last fault. Progress goes to stderr, the table to stdout. After a
violation the exit code is 1, and the seed and the shortest part of the history that shows the violation are printed.
Ctrl-C stops it cleanly.`,
)
  .addOption(
    new Option('--seed <n>', 'the seed of faults and clients')
      .argParser(integer(0, MAX_SEED))
      .default(Math.floor(Date.now() / 1_000), 'the time'),
  )
  .option('--seeds <n>', 'the number of runs, each with the next seed', integer(0, MAX_SEED), 1)
  .option('--minutes <m>', 'how long each run lasts', number(0.5, A_WEEK_IN_MINUTES), 1)
  .addOption(
    new Option('--deployment <name>', 'sqlite: one server; postgres: three servers, PostgreSQL and Redis')
      .choices([...DEPLOYMENTS, 'both'])
      .default('both'),
  )
  .addOption(new Option('--only <fault...>', 'only these faults').choices(names).default(names, 'all'));

async function main({ seed, seeds, minutes, deployment, only }: Options, signal: AbortSignal): Promise<void> {
  const faults = FAULTS.filter(({ name }) => only.includes(name));
  const deployments = deployment === 'both' ? DEPLOYMENTS : [deployment];
  const runs = Array.from({ length: seeds }, (_, index) => seed + index).flatMap((runSeed) =>
    deployments.map((each) => ({ seed: runSeed, deployment: each })),
  );
  const progress = createProgress();
  const reports: Report[] = [];
  try {
    for (const [index, each] of runs.entries()) {
      const name = `${index + 1}/${runs.length} seed ${each.seed} on ${each.deployment}`;
      progress.note(name);
      const onProgress = (text: string) => progress.update(`${name}: ${text}`);
      const lastsMs = minutes * 60_000;
      try {
        const report = await runChaos({ ...each, lastsMs, faults, signal, onProgress, onNote: progress.note });
        reports.push(report);
        if (report.violations.length > 0) progress.note(formatViolations(report));
      } catch (error) {
        signal.throwIfAborted();
        process.exitCode = 1;
        progress.note(`${name} could not be completed: ${(error as Error).stack}`);
      }
    }
  } finally {
    progress.clear();
    if (reports.length > 0) process.stdout.write(formatSummary(reports));
  }
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

await run(command, main);
