/** `npm run test:walk`: the walks of test/walk with every step in every way. */
import { Option } from 'commander';
import { createCommand, integer, run } from './command-line.ts';
import { runAva } from './run-ava.ts';

const MAX_SEED = 9_999_999_999;

const command = createCommand(
  'test:walk',
  `Runs each operation again and again, and lets one step of it fail: first its first, then its second, until none is
left, each in every way. What got no answer is sent again. After each run the store, the answers, the events and the
usage must be what they are when nothing fails. The exit code is 1 if they are not.`,
)
  .option('--only <text...>', 'only tests with this in their titles, such as PostgreSQL')
  .option('--part <k/n>', 'of the steps of each walk, the kth of n parts', '1/1')
  .addOption(
    new Option('--seed <n>', 'the seed of what is not walked whole').argParser(integer(0, MAX_SEED)).default(57),
  );

interface Options {
  readonly only?: readonly string[];
  readonly seed: number;
  readonly part: string;
}

await run(command, ({ only = [], seed, part }: Options) =>
  runAva([...only.map((text) => `--match=*${text}*`), 'test/walk/*.test.ts'], {
    WALK_ALL: 'yes',
    WALK_SEED: `${seed}`,
    WALK_PART: part,
  }),
);
