/** The results: a table for people, the same as JSON for machines. */
import { availableParallelism, cpus } from 'node:os';
import { type Measured, ROUNDS } from './measure.ts';
import { formatCount } from './numbers.ts';
import type { Options } from './options.ts';

/** What other programs may have of the machine before the figures are called disturbed. */
const QUIET_SHARE = 0.05;

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

const COLUMNS: readonly Column[] = [
  { heading: 'row', cell: ({ row }) => row.name, isWords: true },
  { heading: 'with', cell: ({ way }) => way.name, isWords: true },
  { heading: 'requests/s', cell: ({ requestsPerSecond }) => formatCount(requestsPerSecond) },
  { heading: 'p50 ms', cell: ({ p50Ms }) => p50Ms.toFixed(1) },
  { heading: 'p99 ms', cell: ({ p99Ms }) => p99Ms.toFixed(1) },
  { heading: 'server µs', cell: ({ serverUs }) => serverUs?.toFixed(0) ?? '?' },
  { heading: 'Envoy µs', cell: ({ envoyUs }) => envoyUs?.toFixed(0) ?? '?' },
  { heading: 'both µs', cell: ({ cpuUs }) => cpuUs?.toFixed(0) ?? '?' },
  { heading: 'ratio', cell: ({ ratio }) => (ratio === undefined ? '' : `× ${ratio.toFixed(2)}`) },
  { heading: 'target', cell: (result, options) => verdicts(result, options).map(mark).join('; '), isWords: true },
];

export function formatTable(results: readonly Measured[], options: Options): string {
  const cells = results.map((result) => COLUMNS.map(({ cell }) => cell(result, options)));
  const table = [COLUMNS.map(({ heading }) => heading), ...cells];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const [head = '', ...lines] = table.map((line) =>
    line
      .map((cell, column) =>
        COLUMNS[column]?.isWords ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
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
  const rows = results.map(({ row, way, ratio, extraUs, rounds, ...figures }) => ({
    row: row.name,
    with: way.name,
    pets: way.pets,
    ...figures,
    ...(ratio !== undefined && { ratio, extraUs }),
    targets: verdicts({ row, way, ratio, extraUs, rounds, ...figures }, options),
    rounds,
  }));
  const { seconds, connections } = options;
  return `${JSON.stringify({ node: process.version, cpu: cpuName(), cpus: availableParallelism(), seconds, connections, rows }, undefined, 2)}\n`;
}

function verdicts({ row, way, cpuUs, ratio, extraUs }: Measured, { connections }: Options): Verdict[] {
  const { target, maxRatio, maxExtraUs } = row;
  const found: Verdict[] = [];
  if (target?.way === way && (target.connections ?? connections) === connections) {
    const isMet = cpuUs === undefined ? undefined : cpuUs <= target.maxCpuUs;
    found.push({ target: `both ≤ ${target.maxCpuUs} µs`, isMet });
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

function describe({ seconds, connections }: Options): string {
  const load = `${connections} connection${connections === 1 ? '' : 's'}`;
  return `${load}, ${seconds} s a line in ${ROUNDS} rounds; Node ${process.version}, ${availableParallelism()} × ${cpuName()}`;
}

function legend({ rows }: Options): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  return [
    'µs is CPU time per request, all threads of the process; all figures are medians of the rounds.',
    "ratio is the CPU time of both divided by that of the row's first line, round by round.",
    ...rows.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`),
  ].join('\n');
}

/** Other programs take more than their time: they cool the caches that a request runs on. */
function warning(results: readonly Measured[]): string[] {
  const most = Math.max(0, ...results.map(({ othersShare }) => othersShare ?? 0));
  if (most <= QUIET_SHARE) return [];
  const percent = Math.round(100 * most);
  return [
    '',
    `Other programs had up to ${percent} % of this machine: the figures are too high. Run it again when it is idle.`,
  ];
}

function cpuName(): string {
  return cpus()[0]?.model.trim() ?? 'unknown processor';
}
