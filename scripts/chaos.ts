/**
 * `npm run test:chaos`: random clients, random faults, and a checker of all responses, for longer than test/chaos does.
 * Each run has its own service, PostgreSQL and Redis, all on loopback.
 */
import { Option } from 'commander';
import { FAULTS } from '../test/chaos/campaign/faults.ts';
import { createCommand, integer, run } from './command-line.ts';
import { runAva } from './run-ava.ts';

interface Options {
  readonly seed: number;
  readonly seeds: number;
  readonly minutes: number;
  readonly only: readonly string[];
}

const MAX_SEED = 9_999_999_999;
const A_WEEK_IN_MINUTES = 10_080;
const names = FAULTS.map(({ name }) => name);

const command = createCommand(
  'test:chaos',
  `Starts the service with its launcher, sends random requests, causes random faults, and then checks all responses:
every acknowledged write is there, every read is consistent with an order of the writes, followers got every event of
this order, no unit was lost or sold twice, no account exceeded its limit, and the service was healthy 10 seconds after
the last fault. After a violation the exit code is 1, and the seed and the history that shows the violation are
printed.`,
)
  .addOption(
    new Option('--seed <n>', 'the seed of faults and clients')
      .argParser(integer(0, MAX_SEED))
      .default(Math.floor(Date.now() / 1_000), 'the time'),
  )
  .option('--seeds <n>', 'the number of runs, each with the next seed', integer(1, MAX_SEED), 1)
  .option('--minutes <m>', 'how long each run lasts', integer(1, A_WEEK_IN_MINUTES), 1)
  .addOption(new Option('--only <fault...>', 'only these faults').choices(names).default(names, 'all'));

await run(command, ({ seed, seeds, minutes, only }: Options) =>
  runAva(['test/chaos/minute.test.ts'], {
    CHAOS_SEED: `${seed}`,
    CHAOS_SEEDS: `${seeds}`,
    CHAOS_MINUTES: `${minutes}`,
    CHAOS_FAULTS: only.join(),
  }),
);
