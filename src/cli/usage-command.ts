/** `petstore usage`: the usage of an account per day, with a bar chart. */
import type { Command } from 'commander';
import type { DayUsage } from '../../gen/petstore/admin/v1/admin.ts';
import { adminAction } from './admin.ts';
import { toCount, toId } from './arguments.ts';
import { drawBars, legend } from './bars.ts';
import { count, GAP, outputWidth, table } from './output.ts';

const DAY_MS = 86_400_000;
/** The width of an output that is no terminal, without COLUMNS. */
const DEFAULT_COLUMNS = 80;

/** With less room, no bars are drawn. */
const MIN_BAR = 4;

/** The numbers of a day, or of all days. */
interface Row {
  readonly day: string;
  readonly requests: number;
  readonly refused: number;
}

export function usageCommand(usage: Command): void {
  usage
    .description('Shows what an account used, day by day (UTC).')
    .requiredOption('--account <id>', 'the number of the account', toId('--account'))
    .option('--days <count>', 'how many days back, today included, at most 400', toCount('--days'), 30)
    .addHelpText('after', EXAMPLES)
    .action(
      adminAction(async (admin, { account: accountId, days }: { account: bigint; days: number }) => {
        const used = (await admin.getUsage({ accountId, days })).days.map(toRow);
        const text = used.length === 0 ? `Account ${accountId} made no request in ${span(days)}.` : toChart(used);
        return { json: used, text };
      }),
    );
}

const EXAMPLES = `
Examples:
  petstore usage --account 2
  petstore usage --account 2 --days 7 --json
REQUESTS were allowed; REFUSED exceeded a limit or came during a ban.`;

function span(days: number): string {
  return days === 1 ? 'this day (UTC)' : `the last ${days} days`;
}

function toRow({ day, requests, refused }: DayUsage): Row {
  return { day, requests: Number(requests), refused: Number(refused) };
}

/** A table of the days with a bar for each, and their total. */
function toChart(used: readonly Row[]): string {
  const days = fillDays(used);
  const total = { day: 'TOTAL', requests: sum(used, 'requests'), refused: sum(used, 'refused') };
  const text = table<Row>(
    [
      { title: 'DAY', value: ({ day }) => day },
      { title: 'REQUESTS', value: ({ requests }) => count(requests), align: 'right' },
      { title: 'REFUSED', value: ({ refused }) => count(refused), align: 'right' },
    ],
    [...days, total],
  );
  const [titles = '', ...lines] = text.split('\n');
  const room = outputWidth(DEFAULT_COLUMNS) - (lines[0]?.length ?? 0) - GAP.length;
  if (room < MIN_BAR) return text;
  const bars = drawBars(
    days.map(({ requests, refused }) => ({ main: requests, extra: refused })),
    room,
  );
  const withBars = lines.map((line, index) => `${line}${GAP}${bars[index] ?? ''}`.trimEnd());
  return [titles, ...withBars, '', legend('allowed', 'refused')].join('\n');
}

/** The days from the first to the last, those without requests included, for an even time axis. */
function fillDays(used: readonly Row[]): Row[] {
  const byDay = new Map(used.map((row) => [row.day, row]));
  const [first, last] = [used.at(0), used.at(-1)].map((row) => Date.parse(row?.day ?? ''));
  const days: Row[] = [];
  for (let dayMs = first ?? 0; dayMs <= (last ?? 0); dayMs += DAY_MS) {
    const day = new Date(dayMs).toISOString().slice(0, 'YYYY-MM-DD'.length);
    days.push(byDay.get(day) ?? { day, requests: 0, refused: 0 });
  }
  return days;
}

function sum(rows: readonly Row[], name: 'requests' | 'refused'): number {
  return rows.reduce((total, row) => total + row[name], 0);
}
