/** Memory of the service's processes, from Linux's /proc. */
import { readFileSync } from 'node:fs';
import type { TestStack } from '../../support/service/stack.ts';

export const MIB = 2 ** 20;
const SAMPLE_MS = 25;
/** A process that takes more is killed: the machine may have no more. */
const KILL_BYTES = 3_072 * MIB;

export function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** The resident memory of a process, in bytes. 0 when it has ended. */
export function rssBytes(pid: number): number {
  try {
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1_024;
  } catch {
    return 0;
  }
}

export function pidsOf({ stack }: TestStack): { readonly envoy: number; readonly server: number } {
  return { envoy: stack.envoy.process.pid ?? -1, server: stack.servers[0]?.process.pid ?? -1 };
}

/** Watches a process's memory from now on. Call `stop` in the end. */
export class MemoryWatch {
  readonly restBytes: number;
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  peakBytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.restBytes = rssBytes(pid);
    this.#timer = setInterval(() => {
      if (this.now() > KILL_BYTES) process.kill(pid, 'SIGKILL');
    }, SAMPLE_MS);
  }

  /** The present memory. */
  now(): number {
    const bytes = rssBytes(this.#pid);
    this.peakBytes = Math.max(this.peakBytes, bytes);
    return bytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
