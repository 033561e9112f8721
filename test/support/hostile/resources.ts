/** Memory and CPU time of the service's processes, from Linux's /proc. */
import { readFileSync } from 'node:fs';
import { cpuTimeUs } from '../cpu-time.ts';
import type { TestStack } from '../stack.ts';

/** Why nothing can be measured here; undefined when it can. */
export const hostileMissing =
  process.platform === 'linux' ? undefined : 'the hostile tests need Linux: its /proc, and all of 127.0.0.0/8';

export const MIB = 2 ** 20;
const SAMPLE_MS = 25;

/** The resident memory of a process, in bytes. 0 when it has ended. */
export function rssBytes(pid: number): number {
  try {
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1_024;
  } catch {
    return 0;
  }
}

export interface Pids {
  readonly envoy: number;
  readonly server: number;
}

export function pidsOf({ stack }: TestStack): Pids {
  return { envoy: stack.envoy.process.pid ?? -1, server: stack.servers[0]?.process.pid ?? -1 };
}

/** The CPU time of both since their start, in microseconds. */
export function serviceCpuUs({ envoy, server }: Pids): number {
  return (cpuTimeUs(envoy) ?? 0) + (cpuTimeUs(server) ?? 0);
}

/** Watches a process's memory. Call `stop` in the end. */
export class MemoryWatch {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  #peakBytes = 0;

  /** Calls `onTooMuch` above `maxBytes`. */
  constructor(pid: number, maxBytes: number, onTooMuch: () => void) {
    this.#pid = pid;
    this.#timer = setInterval(() => {
      if (this.now() > maxBytes) onTooMuch();
    }, SAMPLE_MS);
  }

  /** The present memory. */
  now(): number {
    const bytes = rssBytes(this.#pid);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    return bytes;
  }

  /** The memory before, at most, and now. */
  since(restBytes: number) {
    return { restBytes, afterBytes: this.now(), peakBytes: this.#peakBytes };
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
