/**
 * The CPU time of a process, from Linux's /proc.
 *
 * /proc/PID/schedstat counts nanoseconds, but of one thread alone, so the threads are added up; none of ours ends
 * between two looks. Where the kernel has no schedstat, /proc/PID/stat counts the whole process in ticks of 10 ms.
 *
 * PostgreSQL has a process per connection, and others that come and go. What those used that have ended is in their
 * parent's account, in ticks.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which is 100 on every architecture that Node and Envoy run on. */
const US_PER_TICK = 10_000;

/** Whether this system says how much CPU time a process has used. */
export function hasCpuTimes(): boolean {
  return cpuTimeUs(process.pid) !== undefined;
}

/** What the process and its threads have used since their start, in microseconds; undefined when nothing tells. */
export function cpuTimeUs(pid: number): number | undefined {
  return fromThreads(pid) ?? fromStat(pid);
}

/** Processes that are counted as one. */
export interface Processes {
  readonly pids: readonly number[];
  /** With those that they start, of which some may have ended. */
  readonly withChildren?: true;
}

/** What all of them have used, in microseconds; undefined when nothing tells. */
export function cpuTimesUs({ pids, withChildren }: Processes): number | undefined {
  return sumOf(pids.map((pid) => (withChildren ? familyTimeUs(pid) : cpuTimeUs(pid))));
}

/** The sum, undefined when one of the terms is. */
export function sumOf(terms: readonly (number | undefined)[]): number | undefined {
  return terms.reduce((sum, term) => (sum === undefined || term === undefined ? undefined : sum + term), 0);
}

/** What all processors together have been busy since the system's start, in microseconds. */
export function systemBusyUs(): number | undefined {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    const [user, nice, system, , , irq, softirq] = line.trim().split(/\s+/).slice(1).map(Number);
    const ticks = [user, nice, system, irq, softirq].reduce<number>((sum, value) => sum + (value ?? 0), 0);
    return ticks * US_PER_TICK;
  } catch {
    return undefined;
  }
}

/** The children are looked at before their parent's account, so that one that ends meanwhile is not lost. */
function familyTimeUs(pid: number): number | undefined {
  const children = childrenOf(pid)?.map((child) => cpuTimeUs(child) ?? 0);
  return sumOf([children && sumOf(children), endedChildrenUs(pid), cpuTimeUs(pid)]);
}

function childrenOf(pid: number): number[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return undefined;
  }
}

function fromThreads(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const times = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)),
    );
    const sumNs = times.reduce((sum, timeNs) => sum + timeNs, 0);
    return sumNs > 0 ? sumNs / 1000 : undefined;
  } catch {
    return undefined;
  }
}

function fromStat(pid: number): number | undefined {
  return fromTicks(pid, 11);
}

function endedChildrenUs(pid: number): number | undefined {
  return fromTicks(pid, 13);
}

/** The user's and the system's ticks, neighbours from this field on (the process's state is field 0). */
function fromTicks(pid: number, field: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name, in brackets, and may hold anything; the third follows its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [userTicks, systemTicks] = fields.slice(field, field + 2).map(Number);
    return userTicks === undefined || systemTicks === undefined ? undefined : (userTicks + systemTicks) * US_PER_TICK;
  } catch {
    return undefined;
  }
}
