/** The load generator: a process of its own, so that its CPU time is not counted. See load-worker.ts. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../src/platform/launcher/child.ts';
import { LogFile } from '../src/platform/observe/logging/log-file.ts';
import { CommandFailed } from '../test/support/command-line.ts';
import type { Processes } from '../test/support/machine/cpu-time.ts';
import type { Target } from './http-client.ts';

const WORKER = fileURLToPath(new URL('load-worker.ts', import.meta.url));

/** Stands for a text that is different in each request. */
export const UNIQUE = '[unique]';

/** The programs whose CPU time is counted. */
export type Counted = Readonly<Record<string, Processes>>;

export interface Job {
  readonly target: Target;
  /** The bytes of requests, which are sent in turn. */
  readonly requests: readonly string[];
  /** The most requests that are open at a time. */
  readonly connections: number;
  /**
   * Open loop: so many requests are due per second, at fixed times, whatever the responses are. Without it, closed
   * loop: each connection is a client that waits for the response, and after a 503 for as long as its Retry-After says.
   */
  readonly perSecond?: number;
  /** How long the load runs before it is measured. */
  readonly leadInMs: number;
  readonly measureMs: number;
  readonly counted: Counted;
}

export interface Latencies {
  readonly count: number;
  readonly perSecond: number;
  /** 0 when there were none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Outcome {
  /**
   * Responses with a 2xx status. Their latency counts from the time when the request was due, or when the client first
   * wanted it: a late generator looks slow, never fast.
   */
  readonly ok: Latencies;
  /** Responses with the status 503. */
  readonly shed: Latencies;
  /** Other results, and how often they came. */
  readonly others: Readonly<Record<string, number>>;
  readonly sentPerSecond: number;
  /** Requests that were due while all connections were in use. */
  readonly unsent: number;
  /** How late the generator itself was. */
  readonly lateP99Ms: number;
  /** In the closed loop: the clients that had a 2xx response. */
  readonly clientsServed: number;
  /** CPU time per 2xx response, by program. */
  readonly cpuUs: Readonly<Record<string, number>>;
  /** The share of the machine that programs other than the service and the generator used, from 0 to 1. */
  readonly othersShare: number;
}

export class LoadGenerator {
  readonly #child: Child;

  /** `prefix` is a command that runs the program that follows it. */
  constructor(logDir: string, prefix: readonly string[] = []) {
    const [command = '', ...args] = [...prefix, process.execPath, WORKER];
    const log = new LogFile(join(logDir, 'load.log'));
    this.#child = new Child('the load generator', command, args, { ipc: true, log });
  }

  /** @throws CommandFailed when the load could not be measured. */
  async run(job: Job): Promise<Outcome> {
    this.#child.process.send(job);
    const message = this.#child.nextMessage() as Promise<Outcome | { readonly failure: string }>;
    const outcome = await message.catch((error: Error) => ({ failure: error.message }));
    if ('failure' in outcome) throw new CommandFailed(outcome.failure);
    return outcome;
  }

  async stop(): Promise<void> {
    await this.#child.stop(0);
  }
}
