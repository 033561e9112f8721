/** Numbers: their middle, and how they are shown. */

export function median(values: readonly number[]): number {
  return quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

/** The value that this share of the values, in ascending order, does not exceed. */
export function quantile(ascending: ArrayLike<number>, share: number): number {
  const value = ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)];
  if (value === undefined) throw new RangeError('there are no values');
  return value;
}

/** 1234567 as "1,234,567". */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
