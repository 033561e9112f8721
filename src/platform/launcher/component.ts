/** A server or Envoy: a child process, which a new one replaces. The stack starts the first one, supervisors others. */
import { CLOSE_MS } from '../config/times.ts';
import type { LogFile } from '../observe/logging/log-file.ts';
import type { Child } from './child.ts';

export abstract class Component {
  /** The name in messages: "the server", "server 2", "Envoy". */
  readonly name: string;
  /** The log of its processes' stdout and stderr. */
  readonly log: LogFile;
  /** How many pings in a row, one a second, may have no response: a machine may be busy. */
  readonly maxMissedPings: number = 6;
  #child: Child | undefined;
  /** Why the last start failed, in a line without a full stop; undefined after a success. */
  startFailure: string | undefined;
  #isStopping = false;

  constructor(name: string, log: LogFile) {
    this.name = name;
    this.log = log;
  }

  protected abstract spawn(): Child;

  /** Resolves when a new process serves. Rejects when it ends first. Tells what takes long, as long as it goes on. */
  protected abstract waitUntilServing(child: Child, onProgress: (what: string) => void): Promise<void>;

  abstract ping(signal: AbortSignal): Promise<unknown>;

  /** The current or last process. */
  get child(): Child {
    if (this.#child === undefined) throw new Error(`${this.name} has not been started`);
    return this.#child;
  }

  /** Whether the current process runs and has served since its start. */
  get isServing(): boolean {
    return this.#child?.hasServed === true && this.#child.isRunning;
  }

  /**
   * Starts a process and resolves when it serves. Stops it and rejects if that takes longer than `withinMs`, or so long
   * since its last sign of progress, which is reported.
   */
  async start(withinMs?: number, report: (line: string) => void = () => undefined): Promise<void> {
    if (this.#isStopping) throw new Error(`${this.name} is stopping`);
    const child = this.spawn();
    this.#child = child;
    let isLate = false;
    const stopLate = () => {
      isLate = true;
      void child.stop(CLOSE_MS);
    };
    const timer = withinMs === undefined ? undefined : setTimeout(stopLate, withinMs);
    let told: string | undefined;
    const onProgress = (what: string) => {
      timer?.refresh();
      if (what !== told) report(`${capitalize(this.name)} ${what} …`);
      told = what;
    };
    try {
      await this.waitUntilServing(child, onProgress);
      child.hasServed = true;
      this.startFailure = undefined;
    } catch (error) {
      throw isLate ? new Error(`it did not serve within ${Number(withinMs) / 1_000} s`) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops the process, and prevents further starts. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#child?.stop(graceMs);
  }
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
