/**
 * `npm run test:chaos`: random clients and random faults, for longer than test/chaos does.
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
  `Starts the service with its launcher, carries out the operations of the walk in a random order, and causes random
faults. Who repeats a request until it has an answer must be told what was told when nothing failed, and read it. In the
end every acknowledged write is there once, a follower got every event once and in order, and no call failed later than
10 seconds after the last fault. After a violation the exit code is 1, and it is printed with the seed.`,
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
