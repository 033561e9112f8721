/** The results as a table. */
import { cpus } from 'node:os';
import { formatCount, median } from '../test/support/numbers.ts';
import { slowestLoop } from './calibration.ts';
import { toColumns } from './columns.ts';
import type { Options } from './main.ts';
import { compare, type Measurement, ROUNDS, type Round } from './measure.ts';
import { type Bounds, HUNDRED_THOUSAND, SCENARIOS } from './scenarios.ts';

/** What other programs may use of the machine before the figures are called disturbed. */
const QUIET_SHARE = 0.05;
/** How much longer than at best the calibrating loop may take on a machine whose speed is steady. */
const STEADY = 1.3;

const PROGRAM_NAMES = { server: 'server', envoy: 'Envoy', postgres: 'PostgreSQL', redis: 'Redis' };
type Program = keyof typeof PROGRAM_NAMES;

export function formatReport(results: readonly Measurement[], options: Options): string {
  const programs = (Object.keys(PROGRAM_NAMES) as Program[]).filter(
    (program) => results.at(-1)?.rounds[0]?.cpuUs[program] !== undefined,
  );
  const programHeadings = programs.map((program) => `${PROGRAM_NAMES[program]} µs`);
  const headings = ['scenario', 'variant', 'requests/s', 'p50 ms', 'p99 ms', ...programHeadings, 'all µs'];
  const compared = ['× floor (server, Envoy)', '× first', '+ µs'];
  const hasBounds = options.engine === 'sqlite' && options.instances === 1;
  const cells = results.map((result) => toCells(result, programs, hasBounds));
  const rows = [[...headings, ...compared], ...cells];
  const figures = headings.map((_, column) => column).slice(2);
  const [head = '', ...lines] = toColumns(rows, figures);
  const isNew = (index: number) => results[index]?.scenario !== results[index - 1]?.scenario;
  const body = lines.flatMap((line, index) => (isNew(index) ? ['', line] : [line]));
  return `${[describe(options), '', head, ...body, '', legend(results), ...warnings(results)].join('\n')}\n`;
}

function toCells(result: Measurement, programs: readonly Program[], hasBounds: boolean): string[] {
  const { scenario, variant, rounds, floor, first } = result;
  const { floors, ratio, addedUs }: Bounds = hasBounds ? (scenario.bounds ?? {}) : {};
  const middle = (figure: (round: Round) => number) => median(rounds.map(figure));
  const toFloor = (figure: (round: Round) => number) =>
    compare(rounds, floor, (round, other) => figure(round) / figure(other));
  const [server, envoy] = (['server', 'envoy'] as const).map((program) =>
    toFloor(({ cpuUs }) => cpuUs[program] ?? Number.NaN)?.toFixed(2),
  );
  const all = judge(
    toFloor(({ totalUs }) => totalUs),
    2,
    variant === HUNDRED_THOUSAND ? floors : undefined,
  );
  return [
    scenario.name,
    variant.name,
    formatCount(middle(({ ok }) => ok.perSecond)),
    middle(({ ok }) => ok.p50Ms).toFixed(1),
    middle(({ ok }) => ok.p99Ms).toFixed(1),
    ...programs.map((program) =>
      rounds[0]?.cpuUs[program] === undefined ? '' : middle(({ cpuUs }) => cpuUs[program] ?? 0).toFixed(0),
    ),
    middle(({ totalUs }) => totalUs).toFixed(0),
    floor === undefined ? '' : `${all} (${server}, ${envoy})`,
    judge(
      compare(rounds, first, (round, other) => round.totalUs / other.totalUs),
      2,
      ratio,
    ),
    judge(
      compare(rounds, first, (round, other) => round.totalUs - other.totalUs),
      1,
      addedUs,
    ),
  ];
}

/** A figure, and its bound when it exceeds that. */
function judge(figure: number | undefined, digits: number, max = Number.POSITIVE_INFINITY): string {
  if (figure === undefined) return '';
  return figure > max ? `${figure.toFixed(digits)} ✗ over ${max}` : figure.toFixed(digits);
}

function describe({ engine, instances, seconds, connections }: Options): string {
  const storage = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL and Redis';
  const load = `${connections} connections, ${seconds} s a line in ${ROUNDS} rounds`;
  return `Servers: ${instances}, on ${storage}; ${load}; ${describeMachine()}`;
}

export function describeMachine(): string {
  return `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;
}

function legend(results: readonly Measurement[]): string {
  const measured = SCENARIOS.filter((scenario) => results.some((result) => result.scenario === scenario));
  return [
    'µs: CPU time per request, of all threads and processes of the program. All figures are medians of the rounds.',
    '× floor: CPU time as a multiple of an Envoy that only transcodes and a grpc-js server that only reads a map.',
    "× first, + µs: CPU time compared with the scenario's first variant, round by round.",
    '✗: more than the bound for one server on SQLite.',
    ...toColumns(measured.map(({ name, title }) => [`  ${name}`, title])),
  ].join('\n');
}

function warnings(results: readonly Measurement[]): string[] {
  const share = Math.max(...results.flatMap(({ rounds }) => rounds.map(({ othersShare }) => othersShare)));
  const slowest = slowestLoop();
  const causes = [
    ...(share > QUIET_SHARE ? [`Other programs used up to ${Math.round(100 * share)} % of this machine.`] : []),
    ...(slowest > STEADY ? [`The same loop took up to ${slowest.toFixed(1)} times as long as at best.`] : []),
  ];
  return causes.length === 0 ? [] : ['', `${causes.join(' ')} The figures are not reliable: measure again.`];
}
