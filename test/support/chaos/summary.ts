/** What a chaos run reports: its size, and its violations. */
import { timeOf } from './check-objects.ts';
import type { Report } from './run.ts';

export function formatReport(report: Report): string {
  const { seed, deployment, violations, evidence, kept, objects, undecided, recoveryMs } = report;
  const { calls, faults, feed } = evidence;
  const unknown = calls.flatMap(({ outcome }) => (outcome.kind === 'unknown' ? [shortly(outcome.why)] : []));
  const refused = calls.flatMap(({ outcome }) => (outcome.kind === 'refused' ? [outcome.code] : []));
  const history = faults.map(({ startMs, endMs, what }) => `  ${timeOf(startMs)} to ${timeOf(endMs)} ${what}`);
  return [
    `seed ${seed} on ${deployment}: ${calls.length} operations, ${feed.length} events`,
    `${objects} objects, ${undecided} undecided`,
    `the last unknown outcome came ${(recoveryMs / 1_000).toFixed(1)} s after the last fault`,
    `${faults.length} faults: ${counted(faults.map(({ name }) => name))}`,
    `Refusals: ${counted(refused)}`,
    `Unknown outcomes: ${counted(unknown)}`,
    ...violations.flatMap(({ title, lines }) => [title, ...lines.map((line) => `  ${line}`)]),
    ...(violations.length === 0 ? [] : ['The faults were:', ...history, `All calls and the logs are in ${kept}`]),
  ].join('\n');
}

function shortly(why: string): string {
  return why.replace(/\d{4,}|:\d+/g, '…').slice(0, 60);
}

function counted(names: readonly string[]): string {
  const groups = [...Map.groupBy(names, (name) => name)].toSorted(([, one], [, other]) => other.length - one.length);
  return groups.map(([name, all]) => `${name} ${all.length}`).join(', ') || 'none';
}
