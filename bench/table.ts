/** The results: a table for people, the same as JSON for machines. */
import { availableParallelism, cpus } from 'node:os';
import { slowestLoop } from './calibration.ts';
import { type Figures, type Measured, ROUNDS } from './measure.ts';
import { formatCount } from './numbers.ts';
import type { Options } from './options.ts';
import { PROGRAMS, type Program } from './stacks.ts';

/** What other programs may have of the machine before the figures are called disturbed. */
const QUIET_SHARE = 0.05;

/** How much longer than at best a loop may take on a machine whose speed is called steady. */
const STEADY = 1.3;

/** A target beside what was measured. */
interface Verdict {
  readonly target: string;
  /** Undefined when there is no figure to compare. */
  readonly isMet: boolean | undefined;
}

interface Column {
  readonly heading: string;
  readonly cell: (result: Measured, options: Options) => string;
  /** Numbers stand to the right. */
  readonly isWords?: true;
}

const PROGRAM_NAMES: Readonly<Record<Program, string>> = {
  server: 'server',
  envoy: 'Envoy',
  postgres: 'PostgreSQL',
  redis: 'Redis',
};

const FIRST_COLUMNS: readonly Column[] = [
  { heading: 'row', cell: ({ row }) => row.name, isWords: true },
  { heading: 'with', cell: ({ way }) => way.name, isWords: true },
  { heading: 'requests/s', cell: ({ requestsPerSecond }) => formatCount(requestsPerSecond) },
  { heading: 'p50 ms', cell: ({ p50Ms }) => p50Ms.toFixed(1) },
  { heading: 'p99 ms', cell: ({ p99Ms }) => p99Ms.toFixed(1) },
];

const FLOOR_COLUMN: Column = {
  heading: '× floor (server, Envoy)',
  cell: ({ toFloor }) =>
    toFloor === undefined
      ? ''
      : `${toFloor.all.toFixed(2)} (${toFloor.server.toFixed(2)}, ${toFloor.envoy.toFixed(2)})`,
};

/** Those that this run has something for. */
function columnsOf(results: readonly Measured[], options: Options): Column[] {
  const counted = PROGRAMS.filter((program) => results.some(({ programUs }) => programUs.has(program)));
  const ofProgram = (program: Program): Column => ({
    heading: `${PROGRAM_NAMES[program]} µs`,
    cell: ({ programUs }) => programUs.get(program)?.toFixed(0) ?? '?',
  });
  const target: Column = {
    heading: 'target',
    cell: (result) => verdicts(result, options).map(mark).join('; '),
    isWords: true,
  };
  return [
    ...FIRST_COLUMNS,
    ...counted.map(ofProgram),
    { heading: `${together(options)} µs`, cell: ({ cpuUs }) => cpuUs?.toFixed(0) ?? '?' },
    ...(results.some(({ toFloor }) => toFloor !== undefined) ? [FLOOR_COLUMN] : []),
    { heading: 'ratio', cell: ({ ratio }) => (ratio === undefined ? '' : `× ${ratio.toFixed(2)}`) },
    ...(hasTargets(options) ? [target] : []),
  ];
}

/** What server and Envoy are together, and everything where there is more. */
function together({ engine }: Options): string {
  return engine === 'sqlite' ? 'both' : 'all';
}

/** The targets are for one server on SQLite. */
function hasTargets({ engine, instances }: Options): boolean {
  return engine === 'sqlite' && instances === 1;
}

export function formatTable(results: readonly Measured[], options: Options): string {
  const columns = columnsOf(results, options);
  const cells = results.map((result) => columns.map(({ cell }) => cell(result, options)));
  const table = [columns.map(({ heading }) => heading), ...cells];
  const widths = columns.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const [head = '', ...lines] = table.map((line) =>
    line
      .map((cell, column) =>
        columns[column]?.isWords ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const isNewRow = (index: number) => index > 0 && results[index]?.row !== results[index - 1]?.row;
  const body = lines.flatMap((line, index) => (isNewRow(index) ? ['', line] : [line]));
  return `${[describe(options), '', head, rule, ...body, rule, legend(options), ...warning(results)].join('\n')}\n`;
}

export function formatJson(results: readonly Measured[], options: Options): string {
  const rows = results.map(({ row, way, toFloor, ratio, extraUs, rounds, ...figures }) => ({
    row: row.name,
    with: way.name,
    pets: way.pets,
    ...toJson(figures),
    ...(toFloor !== undefined && { toFloor }),
    ...(ratio !== undefined && { ratio, extraUs }),
    targets: verdicts({ row, way, toFloor, ratio, extraUs, rounds, ...figures }, options),
    rounds: rounds.map(toJson),
  }));
  const { engine, instances, seconds, connections } = options;
  const machine = { node: process.version, cpu: cpuName(), cpus: availableParallelism() };
  return `${JSON.stringify({ ...machine, engine, instances, seconds, connections, rows }, undefined, 2)}\n`;
}

/** Each program's time under a name of its own: serverUs, envoyUs and so on. */
function toJson({ programUs, ...figures }: Figures): object {
  return { ...figures, ...Object.fromEntries([...programUs].map(([program, us]) => [`${program}Us`, us])) };
}

function verdicts({ row, way, toFloor, ratio, extraUs }: Measured, options: Options): Verdict[] {
  if (!hasTargets(options)) return [];
  const { target, maxRatio, maxExtraUs } = row;
  const found: Verdict[] = [];
  if (target?.way === way) {
    const isMet = toFloor === undefined ? undefined : toFloor.all <= target.maxFloors;
    found.push({ target: `both ≤ ${target.maxFloors} floors`, isMet });
  }
  if (maxRatio !== undefined && ratio !== undefined) {
    found.push({ target: `ratio ≤ ${maxRatio}`, isMet: ratio <= maxRatio });
  }
  if (maxExtraUs !== undefined && extraUs !== undefined) {
    found.push({ target: `adds ${extraUs.toFixed(1)} of ≤ ${maxExtraUs} µs`, isMet: extraUs <= maxExtraUs });
  }
  return found;
}

function mark({ target, isMet }: Verdict): string {
  if (isMet === undefined) return `? ${target}: not measured`;
  return isMet ? `✓ ${target}: met` : `✗ ${target}: NOT met`;
}

function describe({ engine, instances, seconds, connections }: Options): string {
  const servers = `${instances} server${instances === 1 ? '' : 's'}`;
  const storage = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL and Redis';
  const load = `${connections} connection${connections === 1 ? '' : 's'}`;
  return `${servers} on ${storage}; ${load}, ${seconds} s a line in ${ROUNDS} rounds; Node ${process.version}, ${availableParallelism()} × ${cpuName()}`;
}

function legend(options: Options): string {
  const { rows, engine } = options;
  const width = Math.max(...rows.map(({ name }) => name.length));
  return [
    'µs is CPU time per request, all threads and processes of the program; all figures are medians of the rounds.',
    '× floor is the CPU time divided by that of an Envoy that only transcodes before a grpc-js that answers from a map.',
    `ratio is the CPU time of ${engine === 'sqlite' ? 'both' : 'all together'} divided by that of the row's first size, round by round.`,
    ...(engine === 'sqlite' ? [] : ['The targets are for one server on SQLite: none is shown.']),
    ...rows.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`),
  ].join('\n');
}

/** Other programs take more than their time: they cool the caches that a request runs on. */
function warning(results: readonly Measured[]): string[] {
  const most = Math.max(0, ...results.map(({ othersShare }) => othersShare ?? 0));
  const slowest = slowestLoop();
  const causes = [
    ...(most > QUIET_SHARE ? [`Other programs had up to ${Math.round(100 * most)} % of this machine.`] : []),
    ...(slowest > STEADY ? [`The same loop took up to ${slowest.toFixed(1)} times as long as at best.`] : []),
  ];
  return causes.length === 0
    ? []
    : ['', `${causes.join(' ')} Do not believe the figures: measure again when it is quiet.`];
}

function cpuName(): string {
  return cpus()[0]?.model.trim() ?? 'unknown processor';
}
