/** The load generator: a process of its own, so that what it costs is not counted. See load-worker.ts. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../src/launcher/child.ts';
import { LogFile } from '../src/logging/log-file.ts';
import { withLogs } from './logs.ts';
import type { Request } from './rows.ts';
import type { Counted, Program } from './stacks.ts';

const WORKER = fileURLToPath(new URL('load-worker.ts', import.meta.url));

/** autocannon's own mark. */
export const UNIQUE = '[<id>]';

/** One round of load. */
export interface Job {
  readonly url: string;
  /** Each `UNIQUE` in them becomes another text for each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  /** Divided among the connections, each of which goes round and round in its part. */
  readonly requests: readonly Request[];
  /** How long the load runs before it is measured. */
  readonly leadInMs: number;
  readonly measureMs: number;
  readonly counted: Counted;
}

export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What each counted program used in all; nothing where the system doesn't say. */
  readonly cpuUs: Readonly<Partial<Record<Program, number>>>;
  /** What all programs but the service and the load generator used: it disturbs the figures. */
  readonly othersUs: number | undefined;
}

/** What comes back over the channel. */
export type Outcome = Round | { readonly failure: string };

export class LoadGenerator {
  readonly #child: Child;

  constructor(logDir: string) {
    this.#child = new Child('the load generator', process.execPath, [WORKER], {
      ipc: true,
      log: new LogFile(join(logDir, 'load.log')),
    });
  }

  /** Throws when any answer is not 2xx. */
  async run(job: Job): Promise<Round> {
    this.#child.process.send(job);
    const outcome = (await this.#answer()) as Outcome;
    if ('failure' in outcome) throw new LoadFailed(outcome.failure);
    return outcome;
  }

  async #answer(): Promise<unknown> {
    try {
      return await this.#child.message();
    } catch (error) {
      throw await withLogs(error, [this.#child.log.path]);
    }
  }

  async stop(): Promise<void> {
    await this.#child.stop(0);
  }
}

/** The service did not answer as it should. */
export class LoadFailed extends Error {
  override name = 'LoadFailed';
}
