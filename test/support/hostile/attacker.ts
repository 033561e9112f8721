/**
 * An attacker: a separate process, so that it disturbs neither the timing of the measurement nor its open files. It
 * ends with this process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Size } from './attack.ts';
import type { Target } from './sockets.ts';
import { NOTHING, type Outcomes } from './tally.ts';

/** The first message to the process. The second one ends it. */
export interface Job {
  readonly attack: string;
  readonly target: Target;
  readonly size: Size;
  readonly key: string;
}

/** The messages of the process. */
export interface Told {
  readonly outcomes: Outcomes;
  readonly hasBegun: boolean;
}

const PROCESS = fileURLToPath(new URL('attacker-process.ts', import.meta.url));
const END_MS = 5_000;

export class Attacker {
  readonly #child = fork(PROCESS, { execArgv: [] });
  #told: Told = { outcomes: NOTHING, hasBegun: false };

  constructor(job: Job) {
    this.#child.on('message', (told: Told) => {
      this.#told = told;
    });
    this.#child.on('error', () => undefined); // it has exited already
    this.#child.send(job);
  }

  /** The outcomes of its requests so far, and whether all have been sent. */
  get told(): Told {
    return this.#told;
  }

  /** Closes all connections. */
  async end(): Promise<Outcomes> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, 'exit');
      this.#child.send('end', () => undefined);
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_MS);
      await exited;
      clearTimeout(timer);
    }
    return this.#told.outcomes;
  }
}
