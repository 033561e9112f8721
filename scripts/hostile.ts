/**
 * `npm run test:hostile`: the tests of test/hostile at full size. Each attack has a service of its own, with the
 * default limits for anonymous callers, and all traffic is on loopback.
 */
import { Option } from 'commander';
import { createCommand, integer, run } from './command-line.ts';
import { runAva } from './run-ava.ts';

interface Options {
  readonly only?: readonly string[];
  readonly seed: number;
  readonly count: number;
}

const MAX_SEED = 9_999_999_999;

const command = createCommand(
  'test:hostile',
  `Attacks the whole service (Envoy, server, a database in a temporary folder) at full size from a host without an API
key, and prints the effects on the service and on other callers. It takes about an hour, two cores and up to 4 GB of
memory. The exit code is 1 if a bound was exceeded.`,
)
  .option('--only <text...>', 'only tests with this in their titles, such as Fuzz, Memory or Crowd')
  .addOption(
    new Option('--seed <n>', 'the seed of the fuzz')
      .argParser(integer(0, MAX_SEED))
      .default(Math.floor(Date.now() / 1_000), 'the time'),
  )
  .option('--count <n>', 'how many inputs the fuzz sends', integer(1, MAX_SEED), 100_000);

await run(command, ({ only = [], seed, count }: Options) =>
  runAva([...only.map((text) => `--match=*${text}*`), 'test/hostile/*.test.ts'], {
    HOSTILE_SEED: `${seed}`,
    HOSTILE_COUNT: `${count}`,
  }),
);
