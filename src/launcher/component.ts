/**
 * A part of the service, a server or Envoy: the process that does its work, until the next one does. What ends a
 * process or starts one is done by one at a time (`alone`).
 */
import type { LogFile } from '../logging/log-file.ts';
import type { Child } from './child.ts';

/** How long open requests may take when a server or the service stops. The server's own drain is as long. */
export const DRAIN_MS = 10_000;
/** How much longer a process may take to close its files. */
export const CLOSE_MS = 2_000;

export abstract class Component {
  /** For people: "the server", "server 2", "Envoy". */
  readonly name: string;
  /** Of what its processes write to stdout and stderr. */
  readonly log: LogFile;
  #child: Child | undefined;
  #servingChild: Child | undefined;
  #isStopping = false;
  #lastTask = Promise.resolve();

  constructor(name: string, log: LogFile) {
    this.name = name;
    this.log = log;
  }

  protected abstract spawn(): Child;

  /** Resolves when a new process serves. Rejects when it ends before. */
  protected abstract waitUntilServing(child: Child): Promise<void>;

  /** Resolves when the process gives a sign of life. */
  abstract ping(signal: AbortSignal): Promise<unknown>;

  /** Whether the process is one whose end was asked for. */
  isDraining(_child: Child): boolean {
    return false;
  }

  /** The process there is, or the last that there was. */
  get child(): Child {
    if (this.#child === undefined) throw new Error(`${this.name} has not been started`);
    return this.#child;
  }

  /** Whether it has served since its start, and runs. */
  get isServing(): boolean {
    return this.#servingChild !== undefined && this.#servingChild === this.#child && this.#servingChild.isRunning;
  }

  /** Starts a process and resolves when it serves. One that doesn't within `withinMs`, if that is given, is ended. */
  async start(withinMs?: number): Promise<void> {
    if (this.#isStopping) throw new Error(`${this.name} is to stop`);
    const child = this.spawn();
    this.#child = child;
    let isLate = false;
    const endLate = () => {
      isLate = true;
      void child.stop(CLOSE_MS);
    };
    const timer = withinMs === undefined ? undefined : setTimeout(endLate, withinMs);
    try {
      await this.waitUntilServing(child);
      this.#servingChild = child;
    } catch (error) {
      throw isLate ? new Error(`it did not serve within ${Number(withinMs) / 1_000} s`) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Does something that ends a process or starts one, when whatever of the kind is under way has been done. */
  async runExclusive(task: () => Promise<void>): Promise<void> {
    const result = this.#lastTask.then(task);
    this.#lastTask = result.catch(() => undefined); // the caller of this method sees the error
    return result;
  }

  /** Ends the process when its open calls are done, and starts the next. */
  async replace(withinMs: number): Promise<void> {
    await this.child.stop(DRAIN_MS + CLOSE_MS);
    await this.start(withinMs);
  }

  /** Ends it for good. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    await this.#child?.stop(graceMs);
  }
}
