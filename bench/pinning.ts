/** Runs the service on one core and the load generator on another, with taskset, so that neither starves the other. */
import { execFileSync } from 'node:child_process';
import { findProgram } from '../test/support/machine/find-program.ts';

export interface Cores {
  readonly service: string;
  readonly generator: string;
}

const TASKSET = findProgram(['taskset']);

/** Two of the cores that this process may run on; undefined where there is no taskset or no second core. */
export function twoCores(): Cores | undefined {
  if (TASKSET === undefined) return undefined;
  const list = execFileSync(TASKSET, ['-c', '-p', String(process.pid)], { encoding: 'utf8' }).split(': ')[1] ?? '';
  const cores = list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
  const [service, generator] = cores;
  return service === undefined || generator === undefined ? undefined : { service, generator };
}

/** Moves this process, and the processes that it starts from now on, to a core. */
export function moveTo(core: string): void {
  if (TASKSET !== undefined) execFileSync(TASKSET, ['-a', '-c', '-p', core, String(process.pid)]);
}

/** The command that runs the program after it on a core. */
export function onCore(core: string): string[] {
  return TASKSET === undefined ? [] : [TASKSET, '-c', core];
}
