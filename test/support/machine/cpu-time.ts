/** CPU times in microseconds, from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every architecture that Node and Envoy run on. */
export const US_PER_TICK = 10_000;
/** Indexes of the user's ticks in /proc/PID/stat, after the program's name. The system's ticks follow. */
const OWN_TICKS = 11;
const ENDED_CHILDREN_TICKS = 13;

/** Processes that are counted as one program. */
export interface Processes {
  readonly pids: readonly number[];
  /** Adds their child processes, including the ones that have ended. PostgreSQL has a process for each connection. */
  readonly withChildren?: true;
}

/** The CPU time of a process and its threads since its start. 0 when it has ended. */
export function cpuTimeUs(pid: number): number {
  try {
    // schedstat has nanoseconds, but of one thread. None of the measured programs ends a thread while it works.
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}/schedstat`);
    const timesNs = threads.map((file) => Number(readFileSync(file, 'utf8').split(' ', 1)));
    return timesNs.reduce((sum, timeNs) => sum + timeNs, 0) / 1000;
  } catch {
    return ticksUs(pid, OWN_TICKS); // a kernel without schedstat, or a process that has ended
  }
}

/** The CPU time of all of them since their start. */
export function cpuTimesUs({ pids, withChildren }: Processes): number {
  return sum(pids.map((pid) => (withChildren ? familyTimeUs(pid) : cpuTimeUs(pid))));
}

/** The children are read before their parent's account, so that one that ends meanwhile is not lost. */
function familyTimeUs(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return sum([...children.map(cpuTimeUs), ticksUs(pid, ENDED_CHILDREN_TICKS), cpuTimeUs(pid)]);
}

function ticksUs(pid: number, index: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name stands in brackets and may hold anything, so the fields are counted from its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return sum(fields.slice(index, index + 2).map(Number)) * US_PER_TICK;
  } catch {
    return 0;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
