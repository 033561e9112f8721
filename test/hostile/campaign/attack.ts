/** An attack: what one host can do to the public port, at any size. */
import type { Target } from '../../support/calls/sockets.ts';
import type { Bounds } from './bounds.ts';
import type { Report } from './experiment.ts';

export interface Size {
  readonly connections: number;
  /** Requests of each connection. */
  readonly perConnection: number;
}

export interface Attack {
  /** The title of its test: what it must not do. It is the attack's name, too. */
  readonly promise: string;
  /** The size at which it first did harm. */
  readonly full: Size;
  /** Small enough for every run of the tests. By default it is the full one. */
  readonly short?: Size;
  /** How long it is held at full size after it has begun. */
  readonly holdMs: number;
  /** All of its requests end but these. It ends then, too. */
  readonly endsBut?: number;
  /** The bounds that differ from the usual ones, and those of the small size alone. */
  readonly bounds?: Bounds;
  readonly shortBounds?: Bounds;
  /** What else is wrong, in words. */
  readonly check?: (report: Report) => readonly string[];
  /**
   * Resolves when everything has been sent, or as much as the service accepts. The attack then continues until the
   * signal is aborted, which ends its requests.
   */
  run(context: AttackContext): Promise<void>;
}

export interface AttackContext {
  readonly target: Target;
  readonly size: Size;
  readonly signal: AbortSignal;
  /** A valid key, for loads of ordinary callers. */
  readonly key: string;
  /** Counts a request that has ended: its status, or `closed`. */
  readonly count: (outcome: string) => void;
}

/** The number of requests that ended, by outcome. */
export type Outcomes = Readonly<Record<string, number>>;

export function total(outcomes: Outcomes): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0);
}
