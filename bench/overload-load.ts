/** The overload benchmark's load generator: a process of its own, on a core of its own. See overload-worker.ts. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../src/launcher/child.ts';
import { LogFile } from '../src/logging/log-file.ts';
import { LoadFailed } from './load.ts';
import { withLogs } from './logs.ts';
import type { Target } from './overload-client.ts';
import type { Counted } from './stacks.ts';

const WORKER = fileURLToPath(new URL('overload-worker.ts', import.meta.url));

interface Base {
  readonly target: Target;
  /** Requests as they go over the wire, sent in turn. */
  readonly requests: readonly string[];
  readonly seconds: number;
  /** Whose CPU time is measured. */
  readonly timed: Counted;
}

/** So many requests a second, whatever the answers. */
export interface OpenJob extends Base {
  readonly kind: 'open';
  readonly perSecond: number;
  /** Requests beyond so many at a time are not sent. */
  readonly maxConnections: number;
  /** Asks for the service's health all the while. */
  readonly healthRequest: string;
  /** Asks, after the load, whether all is normal. */
  readonly lightRequest: string;
}

/** So many clients, each with one request at a time. */
export interface ClosedJob extends Base {
  readonly kind: 'closed';
  readonly clients: number;
}

export type Job = OpenJob | ClosedJob;

export interface Latencies {
  readonly count: number;
  /** Undefined when there were none. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly maxMs: number | undefined;
}

/** How many cores each program used. */
type Cores = Readonly<Record<string, number>>;

export interface OpenOutcome {
  readonly sent: number;
  /** Due, but every connection that the generator may have was in use. */
  readonly unsent: number;
  /** For as long requests were sent. */
  readonly seconds: number;
  /** Until the last of them had ended. */
  readonly lastEndS: number;
  readonly connections: number;
  /** How late the generator itself was. */
  readonly lateP99Ms: number | undefined;
  readonly ok: Latencies;
  readonly shed: Latencies;
  /** Neither 2xx nor 503, by what they were. */
  readonly others: Readonly<Record<string, number>>;
  /** After the load; undefined when it was not normal in time. */
  readonly recoveryS: number | undefined;
  readonly used: Cores;
  readonly health: {
    readonly ok: number;
    readonly refused: number;
    /** Refused, though no call was shed at that time. */
    readonly stray: number;
    readonly failed: number;
  };
}

export interface ClosedOutcome {
  readonly seconds: number;
  /** From the moment when a client wanted an answer, through all its tries. */
  readonly served: Latencies;
  /** Clients that were served at least once. */
  readonly clientsServed: number;
  readonly shed: number;
  readonly others: Readonly<Record<string, number>>;
  readonly used: Cores;
}

/** What comes back over the channel. */
export type Outcome = OpenOutcome | ClosedOutcome | { readonly failure: string };

export class OverloadGenerator {
  readonly #child: Child;

  /** `prefix` is a command that runs the program that follows. */
  constructor(logDir: string, prefix: readonly string[]) {
    const [command = process.execPath, ...args] = [...prefix, process.execPath, WORKER];
    const log = new LogFile(join(logDir, 'overload.log'));
    this.#child = new Child('the load generator', command, args, { ipc: true, log });
  }

  async offer(job: OpenJob): Promise<OpenOutcome> {
    return (await this.#run(job)) as OpenOutcome;
  }

  async loop(job: ClosedJob): Promise<ClosedOutcome> {
    return (await this.#run(job)) as ClosedOutcome;
  }

  async #run(job: Job): Promise<Outcome> {
    this.#child.process.send(job);
    try {
      const outcome = (await this.#child.message()) as Outcome;
      if ('failure' in outcome) throw new LoadFailed(outcome.failure);
      return outcome;
    } catch (error) {
      throw await withLogs(error, [this.#child.log.path]);
    }
  }

  async stop(): Promise<void> {
    await this.#child.stop(0);
  }
}
