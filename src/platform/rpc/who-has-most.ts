/** Finds who has most of what is bounded for all together. */

/** What the owner who has most of these has, in their order; nothing of nothing. */
export function ofWhoHasMost<T>(all: Iterable<T>, ownerOf: (one: T) => unknown): readonly T[] {
  const lists = Map.groupBy(all, ownerOf).values();
  return lists.reduce<readonly T[]>((most, other) => (other.length > most.length ? other : most), []);
}
