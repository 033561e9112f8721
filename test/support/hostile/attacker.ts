/**
 * An attacker: separate processes, so that they disturb neither the timing of the measurement nor its open files. They
 * end with this process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';
import type { Attack, Size } from './attack.ts';
import type { Target } from './sockets.ts';
import { type Outcomes, sumOutcomes } from './tally.ts';

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
const NOTHING: Told = { outcomes: sumOutcomes([]), hasBegun: false };
/** Many attacks slow down new connections. */
const BEGIN_MS = 40_000;

class Part {
  readonly child: ChildProcess;
  told: Told = NOTHING;

  constructor(job: Job) {
    this.child = fork(PROCESS, { execArgv: [] });
    this.child.on('message', (told: Told) => {
      this.told = told;
    });
    this.child.on('error', () => undefined); // it has exited already
    this.child.send(job);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.send('end', () => undefined);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(timer);
  }
}

export class Attacker {
  readonly #parts: readonly Part[];

  private constructor(parts: readonly Part[]) {
    this.#parts = parts;
  }

  /** Starts the processes. Each has a share of the connections, and of the addresses if there are several. */
  static start({ name, processes = 1 }: Attack, target: Target, size: Size, key: string): Attacker {
    const { from } = target;
    const parts = Array.from({ length: processes }, (_, index) => {
      const share = { ...size, connections: Math.ceil(size.connections / processes) };
      const address = from[index % from.length] ?? from[0];
      const own: Target = processes === 1 ? target : { ...target, from: [address] };
      return new Part({ attack: name, target: own, size: share, key });
    });
    return new Attacker(parts);
  }

  /** The outcomes of its requests so far. */
  get outcomes(): Outcomes {
    return sumOutcomes(this.#parts.map(({ told }) => told.outcomes));
  }

  /** Resolves when everything has been sent, or after a timeout, when the rest is still being sent. */
  async begun(signal?: AbortSignal): Promise<void> {
    const hasBegun = () => signal?.aborted || this.#parts.every(({ told }) => told.hasBegun);
    await until(hasBegun, 'the beginning of the attack', BEGIN_MS).catch(() => undefined);
  }

  /** Closes all connections. */
  async end(): Promise<Outcomes> {
    await Promise.all(this.#parts.map((part) => part.end()));
    return this.outcomes;
  }
}
