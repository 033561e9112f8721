/**
 * An attacker: a separate process, so that it disturbs neither the timing of the measurement nor its open files. It
 * ends with this process.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, Outcomes, Told } from './attack.ts';

const PROCESS = fileURLToPath(new URL('attacker-process.ts', import.meta.url));
const END_MS = 5_000;

export class Attacker {
  readonly #child = fork(PROCESS, { execArgv: [] });
  /** The outcomes of its requests so far, and whether all have been sent. */
  told: Told = { outcomes: {}, hasBegun: false };

  constructor(job: Job) {
    this.#child.on('message', (told: Told) => {
      this.told = told;
    });
    this.#child.on('error', () => undefined); // it has exited already
    this.#child.send(job);
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
    return this.told.outcomes;
  }
}
