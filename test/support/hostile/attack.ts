/** What an attack is: something that one host without a key can do to the public port, at any size. */
import type { Target } from './sockets.ts';
import type { Tally } from './tally.ts';

export interface Size {
  readonly connections: number;
  /** Requests of each connection. */
  readonly perConnection: number;
}

export interface Attack {
  readonly name: string;
  /** For people: what is sent. */
  readonly title: string;
  /** As it was first seen to hurt. */
  readonly full: Size;
  /** Small enough for every run of the tests. */
  readonly short: Size;
  /** How many processes share it, where one has not enough file descriptors. */
  readonly processes?: number;
  /** How long it goes on, beside the time that it takes to begin. */
  readonly holdMs: number;
  /** What share of the others' visits it may have refused for lack of room; unless told, none. */
  readonly maxShedShare?: number;
  /**
   * Begins and resolves when all has been sent, or as much of it as the service takes. Then it is held, or goes on,
   * until the signal is aborted, which ends its requests.
   */
  run(context: AttackContext): Promise<void>;
}

export interface AttackContext {
  readonly target: Target;
  readonly size: Size;
  /** Takes each request when it ends. One that does not end is in no tally. */
  readonly tally: Tally;
  readonly signal: AbortSignal;
  /** A valid key, for those that are no attack but many callers. */
  readonly key: string;
}

/** Runs `begin` for every connection, `atATime` of them side by side. */
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
