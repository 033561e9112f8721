/** The faults of a chaos run. Each undoes itself before it resolves. */
import { DATA_FAULTS } from './data-faults.ts';
import type { Deployment } from './deployment.ts';
import { MACHINE_FAULTS } from './machine-faults.ts';
import { PROCESS_FAULTS } from './process-faults.ts';
import type { Random } from './random.ts';

/** What a fault may make inexact, as docs/failures.md states. */
export type Touches =
  /** A server has ended and lost its memory. */
  | 'server'
  /** Each server may count the limits by itself. */
  | 'redis'
  /** Counts can't be stored. */
  | 'storage'
  /** A server's clock is wrong. */
  | 'clock';

/** A short description of the fault. */
export interface Effect {
  readonly what: string;
  readonly touches: readonly Touches[];
}

export interface Moment {
  readonly deployment: Deployment;
  readonly random: Random;
  /** The duration of a fault that lasts. */
  readonly holdMs: number;
  /** Waits. Rejects when another fault could not be caused. */
  readonly wait: (ms: number) => Promise<void>;
}

export interface Fault {
  /** The name for reports and for `--faults`. */
  readonly name: string;
  /** Whether it can happen to this deployment. By default it can. */
  readonly isPossible?: (deployment: Deployment) => boolean;
  /** Causes the fault and undoes it. */
  readonly happen: (moment: Moment) => Promise<Effect>;
}

/** Faults of the same kind never overlap; faults of different kinds may. */
export const KINDS: readonly (readonly Fault[])[] = [PROCESS_FAULTS, MACHINE_FAULTS, DATA_FAULTS];

export const FAULTS: readonly Fault[] = KINDS.flat();
