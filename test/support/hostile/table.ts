/** The campaign's results: a table, and the outcome and the exceeded bounds of each attack. */
import { toColumns } from '../columns.ts';
import { mib } from './bounds.ts';
import type { Row } from './campaign.ts';

const HEADINGS = ['attack', 'sent', 'RSS rest', 'peak', 'after', 'CPU s', 'p50 ms', 'p99 ms', 'failures', 'verdict'];

const LEGEND = [
  "RSS is Envoy's; CPU is of Envoy and server.",
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
  if (report === undefined) return [name, sent, '', '', '', '', '', '', '', verdict];
  const { memory, recoveredMs, isAborted, cpuUs, attackMs, caller } = report;
  const failures = Object.values(caller.failures).reduce((a, b) => a + b, 0);
  const recovered = recoveredMs === undefined ? '' : ` (${(recoveredMs / 1_000).toFixed()} s)`;
  return [
    name,
    sent,
    mib(memory.restBytes),
    mib(memory.peakBytes),
    isAborted ? 'ended' : `${mib(memory.afterBytes)}${recovered}`,
    `${(cpuUs / 1e6).toFixed(1)} in ${(attackMs / 1_000).toFixed()} s`,
    caller.p50Ms.toFixed(1),
    caller.p99Ms.toFixed(),
    `${failures} of ${caller.visits}`,
    verdict,
  ];
}
