/** The order in which what waits is done, so that nobody who has much to do keeps others waiting. */

/** Whose it is; undefined for the service's own. */
export interface Owned {
  readonly owner?: unknown;
}

/** First the first of each owner, then the second of each, and so on. What one owner has stays in its order. */
export function inFairOrder<Work extends Owned>(waiting: Work[]): Work[] {
  const lists = [...Map.groupBy(waiting, ({ owner }) => owner).values()];
  if (lists.length < 2) return waiting;
  const rounds = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => lists.flatMap((list) => list.slice(round, round + 1))).flat();
}
