/**
 * `npm run test:hostile`: every attack that test/hostile holds the service to, at full size, and a long fuzz.
 *
 * Each starts a service of its own, with the defaults for strangers, and everything goes to loopback addresses.
 */
import { parseArgs } from 'node:util';
import { createProgress } from '../bench/progress.ts';
import { interruption, runCampaign, toCount, UsageError } from '../test/support/campaign-program.ts';
import { CAMPAIGN, campaignNamed, type Row } from '../test/support/hostile/campaign.ts';
import { formatTable } from '../test/support/hostile/table.ts';

const HELP = `Usage: npm run test:hostile -- [options]

Attacks the whole service (Envoy, server, a database in a temporary folder) as one host without a key would, at full
size, and says what that did to it and to others. Progress goes to stderr, the table to stdout. All of it takes about
fifteen minutes, two cores and up to 4 GB of memory. The exit code is 1 when a bound was broken. Ctrl-C stops it cleanly.

Options:
  --only NAME   this attack; can be given more than once
  --seed N      what the fuzz begins with (default: the time)
  --count N     how many inputs the fuzz sends (default 100000)
  --help        this text

Attacks:
${CAMPAIGN.map(({ name, title }) => `  ${name.padEnd(26)} ${title}`).join('\n')}
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000)) },
      count: { type: 'string', default: '100000' },
    },
  });
  return {
    help: values.help,
    attacks: values.only === undefined ? CAMPAIGN : values.only.map(toAttack),
    seed: toCount('seed', values.seed),
    count: toCount('count', values.count),
  };
}

function toAttack(name: string) {
  const found = campaignNamed(name);
  if (found === undefined) throw new UsageError(`there is no attack "${name}" (see --help)`);
  return found;
}

async function main(): Promise<void> {
  const { help, attacks, seed, count } = readOptions();
  if (help) return void process.stdout.write(HELP);
  const signal = interruption();
  const progress = createProgress();
  const rows: Row[] = [];
  try {
    for (const [index, { name, run }] of attacks.entries()) {
      const say = (text: string) => progress.update(`${index + 1}/${attacks.length} ${name}: ${text}`);
      const row = await run({ seed, count, signal, say });
      rows.push(row);
      progress.note(`${name}: ${row.breaches.length === 0 ? 'holds' : `broken: ${row.breaches.join('; ')}`}`);
    }
  } finally {
    progress.clear();
    if (rows.length > 0) process.stdout.write(formatTable(rows));
  }
  if (rows.some(({ breaches }) => breaches.length > 0)) process.exitCode = 1;
}

await runCampaign('hostile', main);
