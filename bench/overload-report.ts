/** The overload benchmark's results as a table. */

import { formatCount } from '../test/support/numbers.ts';
import { toColumns } from './columns.ts';
import type { Options } from './overload.ts';
import { CAPACITY_CLIENTS, CLIENTS, type Offered, type OverloadResults } from './overload-measure.ts';
import type { Cores } from './pinning.ts';
import { describeMachine } from './report.ts';

const MAX_OK_MS = 2_000;
const MAX_SHED_MS = 100;
const MAX_RECOVERY_S = 5;
/** With fewer requests sent, or later, the load was not the intended one. */
const MIN_SENT_SHARE = 0.98;
const MAX_LATE_MS = 50;

const HEADINGS = [
  ...['scenario', 'times', 'due/s', 'sent/s', '2xx/s', 'p50 ms', 'p99 ms', '503/s', 'p50 ms', 'p99 ms'],
  ...['others', 'normal after s', 'remarks'],
];

export function formatOverloadReport(results: OverloadResults, options: Options, cores: Cores | undefined): string {
  const [head = '', ...lines] = toColumns(
    [HEADINGS, ...results.offered.map(toCells)],
    HEADINGS.keys().toArray().slice(1, -1),
  );
  const where = cores
    ? `service on core ${cores.service}, load generator on core ${cores.generator}`
    : 'service and load generator on all cores (no taskset, or one core)';
  const load = `${options.seconds} s each load, at most ${formatCount(options.connections)} requests at a time`;
  const description = `${where}; ${load}; ${describeMachine()}`;
  return `${[description, '', head, ...lines, '', ...capacities(results), clients(results)].join('\n')}\n`;
}

function toCells(offered: Offered): string[] {
  const { scenario, times, perSecond, outcome, recoveryS } = offered;
  const { ok, shed, others, sentPerSecond } = outcome;
  return [
    scenario.name,
    `${times}`,
    ...[perSecond, sentPerSecond, ok.perSecond].map(formatCount),
    ...[ok.p50Ms, ok.p99Ms].map(formatMs),
    formatCount(shed.perSecond),
    ...[shed.p50Ms, shed.p99Ms].map(formatMs),
    formatCount(Object.values(others).reduce((sum, count) => sum + count, 0)),
    recoveryS?.toFixed(1) ?? 'never',
    remarks(offered).join('; '),
  ];
}

/** The bounds that do not hold, and what makes the figures doubtful. */
function remarks({ outcome, perSecond, recoveryS, failedChecks }: Offered): string[] {
  const { ok, shed, others, sentPerSecond, unsent, lateP99Ms } = outcome;
  return [
    ...(ok.p99Ms > MAX_OK_MS ? [`✗ 2xx p99 over ${MAX_OK_MS} ms`] : []),
    ...(shed.p99Ms > MAX_SHED_MS ? [`✗ 503 p99 over ${MAX_SHED_MS} ms`] : []),
    ...Object.entries(others).map(([what, count]) => `✗ ${formatCount(count)} × ${what}`),
    ...(recoveryS === undefined || recoveryS > MAX_RECOVERY_S ? ['✗ not normal in time'] : []),
    ...(failedChecks > 0 ? [`✗ ${failedChecks} health checks failed`] : []),
    ...(unsent > 0 ? [`${formatCount(unsent)} not sent: all connections in use`] : []),
    ...(unsent === 0 && sentPerSecond < perSecond * MIN_SENT_SHARE ? ['the generator could not keep up'] : []),
    ...(lateP99Ms > MAX_LATE_MS ? [`the generator was late: p99 ${formatMs(lateP99Ms)} ms`] : []),
  ];
}

function capacities({ capacities: measured }: OverloadResults): string[] {
  return [...measured].map(([{ title }, { ok }]) => {
    const latency = `p99 ${formatMs(ok.p99Ms)} ms with ${CAPACITY_CLIENTS} connections`;
    return `Capacity, ${title}: ${formatCount(ok.perSecond)}/s, ${latency}`;
  });
}

function clients({ clients: { ok, clientsServed, shed, others } }: OverloadResults): string {
  const [p50, p99, max] = [ok.p50Ms, ok.p99Ms, ok.maxMs].map(formatMs);
  const latency = `p50 ${p50}, p99 ${p99}, at most ${max} ms with all tries`;
  const results = Object.entries({ 503: shed.count, ...others }).filter(([, count]) => count > 0);
  const failed = results.map(([what, count]) => `, ${formatCount(count)} × ${what}`);
  const served = `${formatCount(clientsServed)} clients served`;
  const rate = `${formatCount(ok.perSecond)} responses/s`;
  return `${formatCount(CLIENTS)} clients at once: ${rate}, ${latency}; ${served}${failed.join('')}`;
}

function formatMs(value: number): string {
  return value === 0 ? '' : value.toFixed(value < 10 ? 1 : 0);
}
