/**
 * Typed readers of a row's columns. SQLite gives every integer and boolean as a number; PostgreSQL gives a 64-bit
 * integer as text. A reader throws when the database gives anything else.
 */
export type Row = Readonly<Record<string, unknown>>;

/** @throws Error unless there is exactly one row. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, not ${rows.length}`);
  return row;
}

/** Converts the first row, if there is any. */
export function firstRow<T>([row]: readonly Row[], toRecord: (row: Row) => T): T | undefined {
  return row && toRecord(row);
}

export function text(column: unknown): string {
  if (typeof column === 'string') return column;
  throw unexpected('text', column);
}

export function bytes(column: unknown): Buffer {
  if (Buffer.isBuffer(column)) return column;
  throw unexpected('bytes', column);
}

export function integer(column: unknown): number {
  const value = typeof column === 'string' ? Number(column) : column;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw unexpected('an integer', column);
}

export function bigInteger(column: unknown): bigint {
  if (typeof column === 'number' || typeof column === 'string') return BigInt(column);
  throw unexpected('an integer', column);
}

export function boolean(column: unknown): boolean {
  if (typeof column === 'boolean') return column;
  if (typeof column === 'number') return column !== 0;
  throw unexpected('a boolean', column);
}

/** A reader of texts that are one of `values`. */
export function oneOf<const T extends string>(...values: readonly T[]): (column: unknown) => T {
  return (column) => {
    for (const value of values) if (value === column) return value;
    throw unexpected(`one of ${values.join(', ')}`, column);
  };
}

/** Reads a column that may be NULL. */
export function nullable<T>(read: (column: unknown) => T, column: unknown): T | undefined {
  return column === null ? undefined : read(column);
}

function unexpected(expected: string, column: unknown): Error {
  return new Error(`the database gave ${typeof column} where ${expected} was expected`);
}
