/** What goes wrong in a chaos run, each with the way back: when one resolves, nothing of it is left but its consequences. */

import { DATA_FAULTS } from './data-faults.ts';
import type { Deployment } from './deployment.ts';
import { MACHINE_FAULTS } from './machine-faults.ts';
import { PROCESS_FAULTS } from './process-faults.ts';
import type { Random } from './random.ts';

/** What a fault may make inexact, by the promises of docs/failures.md. */
export type Touches =
  /** A server has ended, and what it had in memory alone is gone. */
  | 'server'
  /** Servers may count the limits each by itself. */
  | 'redis'
  /** What was counted can't be stored. */
  | 'storage'
  /** A server's clock is wrong. */
  | 'clock';

/** What a fault was, in a few words. */
export interface Effect {
  readonly what: string;
  readonly touches: readonly Touches[];
}

export interface Moment {
  readonly deployment: Deployment;
  readonly random: Random;
  /** How long it is to last, where it lasts. */
  readonly holdMs: number;
  /** Waits so long; rejects when the run is interrupted. */
  readonly wait: (ms: number) => Promise<void>;
}

export interface Fault {
  /** For people and for `--only`. */
  readonly name: string;
  /** Why it can't happen to this deployment, if it can't; an empty text where that needs no word. */
  readonly missing?: (deployment: Deployment) => string | undefined;
  /** Does it and undoes it. */
  readonly happen: (moment: Moment) => Promise<Effect>;
}

/** Faults of one kind come one after the other; those of different kinds also at the same time. */
export const KINDS: readonly (readonly Fault[])[] = [PROCESS_FAULTS, MACHINE_FAULTS, DATA_FAULTS];

export const FAULTS: readonly Fault[] = KINDS.flat();
