/** An attack: what one host without a key can do to the public port, at any size. */
import type { Bounds } from './bounds.ts';
import type { Target } from './sockets.ts';
import type { Tally } from './tally.ts';

export interface Size {
  readonly connections: number;
  /** Requests of each connection. */
  readonly perConnection: number;
}

export interface Attack {
  readonly name: string;
  /** A description of what is sent. */
  readonly title: string;
  /** The size at which it first did harm. */
  readonly full: Size;
  /** Small enough for every run of the tests. */
  readonly short: Size;
  /** The number of processes that share it, if one has too few file descriptors. */
  readonly processes?: number;
  /** How long it is held after it has begun. */
  readonly holdMs: number;
  /** The bounds at full size that differ from the usual ones. */
  readonly bounds?: Bounds;
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
