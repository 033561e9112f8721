/** Reports of chaos runs. */
import { toColumns } from '../columns.ts';
import { timeOf } from './check-objects.ts';
import { type Call, isTurnedAway } from './history.ts';
import type { Report } from './run.ts';

const HEADINGS = [
  'seed',
  'deployment',
  'operations',
  'ok',
  'refused',
  'limited',
  'unknown',
  'faults',
  'events',
  'objects',
  'undecided',
  'well after',
  'verdict',
];

export function formatSummary(reports: readonly Report[]): string {
  const table = toColumns([HEADINGS, ...reports.map(toCells)]);
  const calls = reports.flatMap(({ evidence }) => evidence.calls);
  const faults = reports.flatMap(({ evidence }) => evidence.faults.map(({ name }) => name));
  const unknown = calls.flatMap(({ outcome }) => (outcome.kind === 'unknown' ? [shortly(outcome.why)] : []));
  return `${[
    '',
    ...table,
    '',
    `${calls.length} operations, ${faults.length} faults: ${counted(faults)}`,
    `Refusals: ${counted(calls.flatMap(({ outcome }) => (outcome.kind === 'refused' ? [outcome.code] : [])))}`,
    `Unknown outcomes: ${counted(unknown)}`,
  ].join('\n')}\n`;
}

/** The violations of a run, and its seed. */
export function formatViolations({ seed, deployment, violations, evidence, kept }: Report): string {
  const faults = evidence.faults.map(({ startMs, endMs, what }) => `  ${timeOf(startMs)} to ${timeOf(endMs)} ${what}`);
  return [
    `seed ${seed} on ${deployment}: ${violations.length} violations`,
    ...violations.flatMap(({ title, lines }) => [title, ...lines.map((line) => `  ${line}`)]),
    'The faults were:',
    ...faults,
    ...(kept === undefined ? [] : [`All calls and the logs are in ${kept}`]),
    '',
  ].join('\n');
}

function toCells({ seed, deployment, evidence, objects, undecided, recoveryMs, violations }: Report): string[] {
  const count = (is: (call: Call) => boolean) => String(evidence.calls.filter(is).length);
  return [
    String(seed),
    deployment,
    String(evidence.calls.length),
    count(({ outcome }) => outcome.kind === 'ok'),
    count(({ outcome }) => outcome.kind === 'refused' && !isTurnedAway(outcome)),
    count(({ outcome }) => isTurnedAway(outcome)),
    count(({ outcome }) => outcome.kind === 'unknown'),
    String(evidence.faults.length),
    String(evidence.feed.length),
    String(objects),
    String(undecided),
    `${(recoveryMs / 1_000).toFixed(1)} s`,
    violations.length === 0 ? 'holds' : `${violations.length} VIOLATIONS`,
  ];
}

function shortly(why: string): string {
  return why.replace(/\d{4,}|:\d+/g, '…').slice(0, 60);
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
  return sorted.map(([name, count]) => `${name} ${count}`).join(', ') || 'none';
}
