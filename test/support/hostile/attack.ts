/** An attack: what one host can do to the public port, at any size. */
import type { Bounds } from './bounds.ts';
import type { Report } from './experiment.ts';
import type { Target } from './sockets.ts';
import type { Tally } from './tally.ts';

export interface Size {
  readonly connections: number;
  /** Requests of each connection. */
  readonly perConnection: number;
}

export interface Attack {
  readonly name: string;
  /** The title of its test: what it must not do. */
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
  /** Whether it has the key of an account of its own. By default it is that of the bystanders. */
  readonly hasOwnKey?: boolean;
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
  /** Counts each request that ends. */
  readonly tally: Tally;
  readonly signal: AbortSignal;
  /** A valid key, for loads of ordinary callers. */
  readonly key: string;
}

/** Runs `begin` for every connection, `atATime` of them concurrently. */
export async function forEachConnection(
  { connections }: Size,
  begin: (index: number) => Promise<void>,
  atATime = 100,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < connections) await begin(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atATime, connections) }, worker));
}
