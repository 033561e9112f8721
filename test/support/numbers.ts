/** Statistics. */

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** The smallest value that is not exceeded by this share of the values, which are in ascending order. */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  const value = ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)];
  if (value === undefined) throw new RangeError('there are no values');
  return value;
}
