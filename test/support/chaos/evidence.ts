/** All that a chaos run leaves for the checker. */
import type { ChaosAccount } from './accounts.ts';
import type { Call, Order, Pet } from './history.ts';
import type { Happened } from './schedule.ts';

export interface Usage {
  readonly account: string;
  /** Requests that the service says it has let through, over all days. */
  readonly requests: number;
}

export interface Evidence {
  /** How many servers count the limits. */
  readonly servers: number;
  readonly calls: readonly Call[];
  readonly faults: readonly Happened[];
  readonly accounts: readonly ChaosAccount[];
  /** All pets and all orders that are there in the end. */
  readonly pets: readonly Pet[];
  readonly orders: readonly Order[];
  readonly usage: readonly Usage[];
}

/** Something that must not be. */
export interface Violation {
  readonly title: string;
  /** What shows it. */
  readonly lines: readonly string[];
}
