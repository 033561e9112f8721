/** The order in which what waits is done, so that nobody who has much to do keeps others waiting. */

/** Whose it is; undefined for the service's own. */
export interface Owned {
  readonly owner?: unknown;
}

/** First the first of each owner, then the second of each, and so on. What one owner has stays in its order. */
export function inFairOrder<Work extends Owned>(waiting: readonly Work[]): Work[] {
  const counts = new Map<unknown, number>();
  const rounds = waiting.map(({ owner }) => {
    const round = counts.get(owner) ?? 0;
    counts.set(owner, round + 1);
    return round;
  });
  return Array.from(waiting.keys())
    .sort((a, b) => (rounds[a] ?? 0) - (rounds[b] ?? 0) || a - b)
    .flatMap((index) => waiting.slice(index, index + 1));
}
