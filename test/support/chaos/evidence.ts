/** The evidence of a chaos run, for the checker. */
import type { Lists } from '../replica.ts';
import type { ChaosAccount } from './accounts.ts';
import type { FeedEvent, Followed } from './feed.ts';
import type { Call } from './history.ts';
import type { Happened } from './schedule.ts';

export interface Usage {
  readonly account: string;
  /** The admitted requests of all days, as the service reports them. */
  readonly requests: number;
}

export interface Evidence {
  /** The number of servers that count the limits. */
  readonly servers: number;
  readonly calls: readonly Call[];
  readonly faults: readonly Happened[];
  readonly accounts: readonly ChaosAccount[];
  /** All events, and what the lists of the shop say, at the end. */
  readonly feed: readonly FeedEvent[];
  readonly lists: Lists;
  /** What those who followed the feed have got. */
  readonly followed: readonly Followed[];
  readonly usage: readonly Usage[];
}

/** A broken promise. */
export interface Violation {
  readonly title: string;
  /** The part of the evidence that shows it. */
  readonly lines: readonly string[];
}
