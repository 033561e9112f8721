/** The results as a table, and the bounds that they miss. */
import { cpus } from 'node:os';
import { median } from '../test/support/numbers.ts';
import { formatCount, toColumns } from './columns.ts';
import type { Measurement, Round } from './measure.ts';
import { type Bounds, COMPARED } from './scenarios.ts';

/** What other programs may use of the machine before the figures are called disturbed. */
const QUIET_SHARE = 0.05;
/** How many times as long a variant's requests may take in one round as in another, on a machine of steady speed. */
const STEADY = 1.5;

const PROGRAMS = { server: 'server', envoy: 'Envoy', postgres: 'PostgreSQL', redis: 'Redis' };

/** A measurement and the one that it is compared with: the scenario's variant before it. */
interface Row extends Measurement {
  readonly before: readonly Round[] | undefined;
}

/** What was measured, the table, and warnings. */
export function formatTable(results: readonly Measurement[]): string[] {
  const programs = Object.keys(PROGRAMS).filter((name) => results[0]?.rounds[0]?.programs[name] !== undefined);
  const shown = programs.map((name) => PROGRAMS[name as keyof typeof PROGRAMS]);
  const figures = ['requests/s', 'p50 ms', 'p99 ms', ...shown.map((name) => `${name} µs`), 'all µs'];
  const ratios = ['× requests/s', `× µs (${shown.join(', ')})`, '× p50', '× p99'];
  const headings = ['scenario', 'variant', ...figures, ...ratios];
  const rows = [headings, ...toRows(results).map((row) => toCells(row, programs))];
  const [head = '', ...lines] = toColumns(rows, headings.keys().toArray().slice(2));
  return [
    describeMachine(),
    'µs: CPU time of a request, of all threads and processes of the program. Figures are medians of the rounds.',
    '×: as a multiple of the variant above. The floor is an Envoy that only transcodes, before a grpc-js server that',
    'only reads a map.',
    '',
    head,
    ...lines.flatMap((line, index) =>
      results[index]?.scenario === results[index - 1]?.scenario ? [line] : ['', line],
    ),
    '',
    ...warnings(results),
  ];
}

/** A line for each bound that is missed. */
export function missedBounds(results: readonly Measurement[]): string[] {
  return toRows(results).flatMap((row) => {
    const { scenario, variant } = row;
    const bounds: Bounds = scenario.bounds[variant.name] ?? {};
    return (Object.keys(COMPARED) as (keyof Bounds)[]).flatMap((figure) => {
      const [bound, ratio] = [bounds[figure], ratioOf(row, (round) => round[figure])];
      if (bound === undefined || ratio === undefined) return [];
      const [isMet, limit] = figure === 'perSecond' ? [ratio >= bound, 'least'] : [ratio <= bound, 'most'];
      if (isMet) return [];
      return [`✗ ${scenario.name}, ${variant.name}: ${COMPARED[figure]} × ${ratio.toFixed(2)}, at ${limit} ${bound}`];
    });
  });
}

export function describeMachine(): string {
  return `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;
}

function toRows(results: readonly Measurement[]): Row[] {
  return results.map((result, index) => {
    const above = results[index - 1];
    return { ...result, before: above?.scenario === result.scenario ? above.rounds : undefined };
  });
}

/** The median of the rounds, each compared with the other variant's round of about the same time. */
function ratioOf({ rounds, before }: Row, figure: (round: Round) => number): number | undefined {
  const pairs = before?.flatMap((other, index) =>
    rounds.slice(index, index + 1).map((round) => [round, other] as const),
  );
  return pairs && median(pairs.map(([round, other]) => figure(round) / figure(other)));
}

function toCells(row: Row, programs: readonly string[]): string[] {
  const { scenario, variant, rounds } = row;
  const middle = (figure: (round: Round) => number) => median(rounds.map(figure));
  const ratio = (figure: (round: Round) => number) => ratioOf(row, figure)?.toFixed(2) ?? '';
  const ofEach = programs.map((name) => ratio((round) => round.programs[name] ?? Number.NaN));
  return [
    scenario.name,
    variant.name,
    formatCount(middle(({ perSecond }) => perSecond)),
    ...[middle(({ p50Ms }) => p50Ms), middle(({ p99Ms }) => p99Ms)].map((ms) => ms.toFixed(1)),
    ...programs.map((name) => middle((round) => round.programs[name] ?? Number.NaN).toFixed(0)),
    middle(({ cpuUs }) => cpuUs).toFixed(0),
    ratio(({ perSecond }) => perSecond),
    row.before === undefined ? '' : `${ratio(({ cpuUs }) => cpuUs)} (${ofEach.join(', ')})`,
    ratio(({ p50Ms }) => p50Ms),
    ratio(({ p99Ms }) => p99Ms),
  ];
}

function warnings(results: readonly Measurement[]): string[] {
  const share = Math.max(...results.flatMap(({ rounds }) => rounds.map(({ othersShare }) => othersShare)));
  const spreads = results.map(({ rounds }) => rounds.map(({ cpuUs }) => cpuUs));
  const spread = Math.max(...spreads.map((times) => Math.max(...times) / Math.min(...times)));
  return [
    ...(share > QUIET_SHARE ? [`Other programs used up to ${Math.round(100 * share)} % of this machine.`] : []),
    ...(spread > STEADY ? [`The same took up to ${spread.toFixed(1)} times as long in one round as in another.`] : []),
  ].map((cause) => `${cause} The figures are not reliable: measure again.`);
}
