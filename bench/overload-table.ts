/** The overload benchmark's results: a table for people, the same as JSON for machines. */
import { availableParallelism, cpus } from 'node:os';
import { formatCount } from './numbers.ts';
import type { OverloadOptions } from './overload-options.ts';
import { CAPACITY_CLIENTS, CLIENTS, type Offered, type OverloadResults } from './overload-rows.ts';

const MAX_OK_MS = 2_000;
const MAX_SHED_MS = 100;
const MAX_RECOVERY_S = 5;
/** Less than this share of the due requests, or later than this, and the load was not the one that was meant. */
const MIN_SENT_SHARE = 0.98;
const MAX_LATE_MS = 50;

const HEADINGS = [
  'row',
  'times',
  'offered/s',
  'sent/s',
  '2xx/s',
  'p50 ms',
  'p99 ms',
  'shed/s',
  'p50 ms',
  'p99 ms',
  'others',
  'normal s',
  '/healthz 503',
  'cores: Envoy',
  'server',
  'generator',
  'remarks',
];

export function formatOverloadTable(results: OverloadResults, options: OverloadOptions): string {
  const table = [HEADINGS, ...results.offered.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const isWords = (column: number) => column === 0 || column === HEADINGS.length - 1;
  const [head = '', ...lines] = table.map((line) =>
    line
      .map((cell, column) => (isWords(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
  const rule = '─'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const below = [...capacities(results), clients(results)];
  return `${[describe(results, options), '', head, rule, ...lines, rule, ...below].join('\n')}\n`;
}

function cellsOf({ row, times, perSecond, outcome, server }: Offered): string[] {
  const { sent, seconds, lastEndS, ok, shed, others, recoveryS, health, used } = outcome;
  const polls = health.ok + health.refused + health.failed;
  return [
    row.name,
    `${times}`,
    formatCount(perSecond),
    formatCount(sent / seconds),
    formatCount(ok.count / lastEndS),
    toMs(ok.p50Ms),
    toMs(ok.p99Ms),
    formatCount(shed.count / lastEndS),
    toMs(shed.p50Ms),
    toMs(shed.p99Ms),
    Object.values(others)
      .reduce((sum, count) => sum + count, 0)
      .toString(),
    recoveryS?.toFixed(1) ?? 'never',
    `${Math.round((100 * health.refused) / Math.max(1, polls))} %`,
    ...['envoy', 'server', 'generator'].map((name) => used[name]?.toFixed(2) ?? '?'),
    remarks(outcome, server, perSecond).join('; '),
  ];
}

/** What does not hold, and what makes the figures doubtful. */
function remarks(outcome: Offered['outcome'], server: Offered['server'], perSecond: number): string[] {
  const { sent, seconds, unsent, ok, shed, others, recoveryS, health, lateP99Ms, connections } = outcome;
  const isOver = (value: number | undefined, max: number) => value !== undefined && value > max;
  return [
    ...(isOver(ok.p99Ms, MAX_OK_MS) ? [`✗ 2xx p99 over ${MAX_OK_MS} ms`] : []),
    ...(isOver(shed.p99Ms, MAX_SHED_MS) ? [`✗ 503 p99 over ${MAX_SHED_MS} ms`] : []),
    ...Object.entries(others).map(([what, count]) => `✗ ${formatCount(count)} × ${what}`),
    ...(recoveryS === undefined || recoveryS > MAX_RECOVERY_S ? ['✗ not normal in time'] : []),
    ...(server.failedChecks > 0 ? [`✗ ${server.failedChecks} health checks failed`] : []),
    ...(server.wasUnhealthy ? ['✗ the server was declared dead'] : []),
    ...(health.stray > 0 ? [`✗ /healthz 503 with no call shed: ${health.stray}`] : []),
    ...(health.failed > 0 ? [`✗ /healthz without an answer: ${health.failed}`] : []),
    ...(unsent > 0 ? [`${formatCount(unsent)} not sent: ${formatCount(connections)} connections in use`] : []),
    ...(unsent === 0 && sent / seconds < perSecond * MIN_SENT_SHARE ? ['the generator could not keep up'] : []),
    ...(isOver(lateP99Ms, MAX_LATE_MS) ? [`the generator was late: p99 ${toMs(lateP99Ms)} ms`] : []),
  ];
}

function capacities({ capacities: found }: OverloadResults): string[] {
  return [...found].map(([row, { served, seconds, used }]) => {
    const cores = ['envoy', 'server', 'generator'].map((name) => `${name} ${used[name]?.toFixed(2) ?? '?'}`).join(', ');
    const rate = formatCount(served.count / seconds);
    const how = `${CAPACITY_CLIENTS} connections; cores: ${cores}`;
    return `Capacity, ${row.title}: ${rate}/s, p99 ${toMs(served.p99Ms)} ms (${how})`;
  });
}

function clients({ clients: { served, clientsServed, shed, others, seconds } }: OverloadResults): string {
  const failed = Object.entries(others).map(([what, count]) => `, ${formatCount(count)} × ${what}`);
  return (
    `${formatCount(CLIENTS)} clients at once: ${formatCount(served.count / seconds)} answers/s, ` +
    `after p50 ${toMs(served.p50Ms)}, ` +
    `p99 ${toMs(served.p99Ms)}, at most ${toMs(served.maxMs)} ms with all tries; ` +
    `${formatCount(clientsServed)} clients served, ${formatCount(shed)} × 503${failed.join('')}`
  );
}

export function formatOverloadJson(results: OverloadResults, { seconds, connections }: OverloadOptions): string {
  const { cores, offered } = results;
  return `${JSON.stringify(
    {
      node: process.version,
      cpu: cpuName(),
      cpus: availableParallelism(),
      cores,
      seconds,
      connections,
      capacities: Object.fromEntries([...results.capacities].map(([row, capacity]) => [row.name, capacity])),
      offered: offered.map(({ row, ...rest }) => ({ row: row.name, ...rest })),
      clients: results.clients,
    },
    undefined,
    2,
  )}\n`;
}

function describe({ cores }: OverloadResults, { seconds, connections }: OverloadOptions): string {
  const where =
    cores === undefined
      ? 'service and load generator share all cores (no taskset, or one core)'
      : `service on core ${cores.service}, load generator on core ${cores.generator}`;
  const load = `${seconds} s each load, at most ${formatCount(connections)} requests at a time`;
  return `${where}; ${load}; Node ${process.version}, ${cpus().length} × ${cpuName()}`;
}

function cpuName(): string {
  return cpus()[0]?.model.trim() ?? 'unknown processor';
}

function toMs(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(value < 10 ? 1 : 0);
}
