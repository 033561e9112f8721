/**
 * `npm run test:chaos`: random clients, random faults, and a checker that reads what the clients were told.
 *
 * Each run starts a service of its own, and its own PostgreSQL and Redis; everything is on loopback.
 */
import { parseArgs } from 'node:util';
import { createProgress } from '../bench/progress.ts';
import { interruption, runCampaign, toCount, UsageError } from '../test/support/campaign-program.ts';
import { DEPLOYMENTS, type DeploymentName } from '../test/support/chaos/deployment.ts';
import { FAULTS } from '../test/support/chaos/faults.ts';
import { type Report, runChaos } from '../test/support/chaos/run.ts';
import { formatSummary, formatViolations } from '../test/support/chaos/summary.ts';

const HELP = `Usage: npm run test:chaos -- [options]

Starts the service by its launcher, lets random clients ask and random faults happen, and then checks what the clients
were told: every acknowledged write is there, every read is explained by some order of the writes, no unit was lost or
sold twice, no account had more than its limit, usage is what was let through, and all was well 10 seconds after the last
fault. Progress goes to stderr, the table to stdout. The exit code is 1 when something did not hold; then the seed and
the shortest part of the history that shows it are printed. Ctrl-C stops it cleanly.

Options:
  --seed N             what faults and clients begin with (default: the time)
  --seeds N            so many runs, each with the next seed (default 1)
  --minutes M          how long each run lasts, at least 0.5 (default 1)
  --deployment NAME    sqlite (one server), postgres (three servers, PostgreSQL, Redis), or both (default both)
  --only FAULT         this fault; can be given more than once
  --help               this text

Faults: ${FAULTS.map(({ name }) => name).join(', ')}
`;

const LEAST_MINUTES = 0.5;

function readOptions() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000)) },
      seeds: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '1' },
      deployment: { type: 'string', default: 'both' },
      only: { type: 'string', multiple: true },
    },
  });
  return {
    help: values.help,
    firstSeed: toCount('seed', values.seed),
    seeds: toCount('seeds', values.seeds),
    minutes: toMinutes(values.minutes),
    deployments: toDeployments(values.deployment),
    faults: values.only === undefined ? FAULTS : values.only.map(toFault),
  };
}

function toMinutes(text: string): number {
  const minutes = Number(text);
  if (minutes >= LEAST_MINUTES) return minutes;
  throw new UsageError(`--minutes must be a number from ${LEAST_MINUTES}, not "${text}"`);
}

function toDeployments(text: string): readonly DeploymentName[] {
  if (text === 'both') return DEPLOYMENTS;
  const found = DEPLOYMENTS.find((name) => name === text);
  if (found === undefined) throw new UsageError(`--deployment must be sqlite, postgres or both, not "${text}"`);
  return [found];
}

function toFault(name: string) {
  const found = FAULTS.find((fault) => fault.name === name);
  if (found === undefined) throw new UsageError(`there is no fault "${name}" (see --help)`);
  return found;
}

async function main(): Promise<void> {
  const { help, firstSeed, seeds, minutes, deployments, faults } = readOptions();
  if (help) return void process.stdout.write(HELP);
  const signal = interruption();
  const progress = createProgress();
  const reports: Report[] = [];
  const runs = Array.from({ length: seeds }, (_, index) => firstSeed + index).flatMap((seed) =>
    deployments.map((deployment) => ({ seed, deployment })),
  );
  try {
    for (const [index, { seed, deployment }] of runs.entries()) {
      const name = `${index + 1}/${runs.length} seed ${seed} on ${deployment}`;
      progress.note(name);
      const onProgress = (text: string) => progress.update(`${name}: ${text}`);
      const lastsMs = minutes * 60_000;
      try {
        const report = await runChaos({ seed, deployment, lastsMs, faults, signal, onProgress, onNote: progress.note });
        reports.push(report);
        if (report.violations.length > 0) progress.note(formatViolations(report));
      } catch (error) {
        signal.throwIfAborted();
        process.exitCode = 1;
        progress.note(`${name} could not be carried to its end: ${(error as Error).stack}`);
      }
    }
  } finally {
    progress.clear();
    if (reports.length > 0) process.stdout.write(formatSummary(reports));
  }
  if (reports.some(({ violations }) => violations.length > 0)) process.exitCode = 1;
}

await runCampaign('chaos', main);
