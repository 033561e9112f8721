/** The campaign's results: a table, and the outcome and the exceeded bounds of each attack. */
import { toColumns } from '../columns.ts';
import { mib } from './bounds.ts';
import type { Row } from './campaign-run.ts';
import type { Memory } from './experiment.ts';

const HEADINGS = ['attack', 'sent', 'Envoy', 'server', 'CPU s', 'p50 ms', 'p99 ms', 'failures', 'verdict'];

const LEGEND = [
  'Envoy and server: resident memory at rest, at most, and after. CPU is of both.',
  'p50, p99 and failures are of a second caller, who has a key; times are of the slowest kind of request.',
].join('\n');

export function formatTable(rows: readonly Row[]): string {
  const table = toColumns([HEADINGS, ...rows.map(toCells)]);
  const details = rows.flatMap(({ name, outcome, breaches }) => [
    `${name}: ${outcome}`,
    ...breaches.map((breach) => `  broken: ${breach}`),
  ]);
  return `\n${table.join('\n')}\n\n${LEGEND}\n\n${details.join('\n')}\n`;
}

function toCells({ name, sent, report, breaches }: Row): string[] {
  const verdict = breaches.length === 0 ? 'holds' : 'BROKEN';
  if (report === undefined) return [name, sent, '', '', '', '', '', '', verdict];
  const { memory, recoveredMs, isAborted, cpuUs, attackMs, caller } = report;
  const failures = Object.values(caller.failures).reduce((a, b) => a + b, 0);
  const recovered = recoveredMs === undefined ? '' : ` (${(recoveredMs / 1_000).toFixed()} s)`;
  return [
    name,
    sent,
    isAborted ? 'ended' : `${toMib(memory.envoy)}${recovered}`,
    toMib(memory.server),
    `${(cpuUs / 1e6).toFixed(1)} in ${(attackMs / 1_000).toFixed()} s`,
    caller.p50Ms.toFixed(1),
    caller.p99Ms.toFixed(),
    `${failures} of ${caller.visits}`,
    verdict,
  ];
}

function toMib({ restBytes, peakBytes, afterBytes }: Memory): string {
  return [restBytes, peakBytes, afterBytes]
    .map(mib)
    .join(' ')
    .replaceAll(/ MiB(?=.)/g, '');
}
