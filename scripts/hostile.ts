/**
 * `npm run test:hostile`: every attack of test/hostile at full size, and a long fuzz. Each attack has a service of its
 * own, with the default limits for anonymous callers, and all traffic is on loopback.
 */
import { Option } from 'commander';
import { toColumns } from '../test/support/columns.ts';
import { createCommand, integer, number, run } from '../test/support/command-line.ts';
import { CAMPAIGN } from '../test/support/hostile/campaign.ts';
import type { Row } from '../test/support/hostile/campaign-run.ts';
import { formatTable } from '../test/support/hostile/table.ts';
import { createProgress } from '../test/support/progress.ts';

interface Options {
  readonly only: readonly string[];
  readonly seed: number;
  readonly count: number;
  readonly minutes: number;
}

const MAX_SEED = 9_999_999_999;
const A_WEEK_IN_MINUTES = 10_080;
const names = CAMPAIGN.map(({ name }) => name);

const command = createCommand(
  'test:hostile',
  `Attacks the whole service (Envoy, server, a database in a temporary folder) at full size from a host without an API
key, and prints the effects on the service and on other callers. Progress goes to stderr, the table to stdout. It takes
about an hour, two cores and up to 4 GB of memory. The exit code is 1 if a bound was exceeded. Ctrl-C stops it
cleanly.`,
)
  .addOption(new Option('--only <name...>', 'only these attacks').choices(names).default(names, 'all'))
  .addOption(
    new Option('--seed <n>', 'the seed of the fuzz and of the readers')
      .argParser(integer(0, MAX_SEED))
      .default(Math.floor(Date.now() / 1_000), 'the time'),
  )
  .option('--count <n>', 'how many inputs the fuzz sends', integer(0, MAX_SEED), 100_000)
  .option('--minutes <m>', 'how long the random readers read', number(0.1, A_WEEK_IN_MINUTES), 5)
  .addHelpText('after', `\nAttacks:\n${toColumns(CAMPAIGN.map(({ name, title }) => [`  ${name}`, title])).join('\n')}`);

async function main({ only, seed, count, minutes }: Options, signal: AbortSignal): Promise<void> {
  const attacks = CAMPAIGN.filter(({ name }) => only.includes(name));
  const progress = createProgress();
  const rows: Row[] = [];
  try {
    for (const [index, attack] of attacks.entries()) {
      const say = (text: string) => progress.update(`${index + 1}/${attacks.length} ${attack.name}: ${text}`);
      const row = await attack.run({ seed, count, minutes, signal, say });
      rows.push(row);
      progress.note(`${attack.name}: ${row.breaches.length === 0 ? 'holds' : `broken: ${row.breaches.join('; ')}`}`);
    }
  } finally {
    progress.clear();
    if (rows.length > 0) process.stdout.write(formatTable(rows));
  }
  if (rows.some(({ breaches }) => breaches.length > 0)) process.exitCode = 1;
}

await run(command, main);
