/**
 * The fields of a table's records. A field is stored in one column or several, and reads what either engine gives for
 * them: SQLite gives every integer and boolean as a number; PostgreSQL gives a 64-bit integer as text.
 */
import type { SqlValue } from './statement.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface Field<T> {
  readonly columns: readonly string[];
  /** @throws Error when the database gives anything but a T. */
  read(row: Row): T;
  /** The values of the columns. */
  write(value: T): readonly SqlValue[];
}

/** The fields of a record. */
export type Fields<Record> = { readonly [Name in keyof Record]-?: Field<Record[Name]> };

function field<T extends SqlValue>(name: string, parse: (value: unknown) => T | undefined): Field<T> {
  return {
    columns: [name],
    read(row) {
      const value = parse(row[name]);
      if (value === undefined) throw new Error(`the database gave ${typeof row[name]} for ${name}`);
      return value;
    },
    write: (value) => [value],
  };
}

export const text = (name: string) => field(name, (value) => (typeof value === 'string' ? value : undefined));

export const bytes = (name: string) => field(name, (value) => (Buffer.isBuffer(value) ? value : undefined));

export const integer = (name: string) =>
  field(name, (value) => {
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
  });

/** An integer that is no `number`: an id, or seconds. */
export const bigInteger = <T extends bigint>(name: string) =>
  field(name, (value) => (typeof value === 'number' || typeof value === 'string' ? (BigInt(value) as T) : undefined));

export const boolean = (name: string) =>
  field(name, (value) => (typeof value === 'number' ? value !== 0 : typeof value === 'boolean' ? value : undefined));

/** A text that is one of `values`. */
export const oneOf = <const T extends string>(name: string, values: readonly T[]) =>
  field(name, (value) => values.find((one) => one === value));

/** A field that is absent when a column of it is NULL. */
export function optional<T>({ columns, read, write }: Field<T>): Field<T | undefined> {
  return {
    columns,
    read: (row) => (columns.some((column) => row[column] === null) ? undefined : read(row)),
    write: (value) => (value === undefined ? columns.map(() => null) : write(value)),
  };
}

/** A record within a record. */
export function record<T extends object>(fields: Fields<T>): Field<T> {
  const all = Object.entries(fields) as [keyof T, Field<T[keyof T]>][];
  return {
    columns: all.flatMap(([, { columns }]) => columns),
    read(row) {
      const result: Partial<T> = {};
      for (const [name, { read }] of all) result[name] = read(row);
      return result as T; // each of its fields has been read
    },
    write: (value) => all.flatMap(([name, { write }]) => write(value[name])),
  };
}
