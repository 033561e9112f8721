/**
 * The CPU time of a process, from Linux's /proc.
 *
 * /proc/PID/schedstat counts nanoseconds, but of one thread alone, so the threads are added up; none of ours ends
 * between two looks. Where the kernel has no schedstat, /proc/PID/stat counts the whole process in ticks of 10 ms.
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
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name, in brackets, and may hold anything; the third follows its last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [userTicks, systemTicks] = [fields[11], fields[12]].map(Number);
    return userTicks === undefined || systemTicks === undefined ? undefined : (userTicks + systemTicks) * US_PER_TICK;
  } catch {
    return undefined;
  }
}
