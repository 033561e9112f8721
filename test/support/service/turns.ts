import { setTimeout as delay } from 'node:timers/promises';

/**
 * Lets a few tests of a file start processes at a time: on two cores, more would only make each other slow. The
 * returned function waits for a turn, and resolves with one that ends it.
 */
export function takeTurns(atATime: number): () => Promise<() => void> {
  let free = atATime;
  return async () => {
    while (free === 0) await delay(10);
    free -= 1;
    return () => {
      free += 1;
    };
  };
}
