/**
 * Tables of records, and the fields of these. A field is stored in one column or several, and reads what either engine
 * gives for them: SQLite gives every integer and boolean as a number; PostgreSQL gives a 64-bit integer as text.
 */
import type { Engine } from '../storage/engine.ts';
import type { Params, Row, SqlValue } from '../storage/statement.ts';

export interface Field<T> {
  readonly columns: readonly string[];
  /** The SQL types of the columns, for casts of JSON values. */
  readonly types: readonly string[];
  /** The columns that are never NULL where the field has a value. */
  readonly given: readonly string[];
  /** The columns whose integers may be beyond 2^53, which SQLite's driver would round (`selected`). */
  readonly exact: readonly string[];
  /** Whether a value may have more than a kilobyte: pages are then bounded by bytes, too. */
  readonly isLong?: boolean;
  /** @throws Error when the database gives anything but a T. */
  read(row: Row): T;
  write(value: T): readonly SqlValue[];
}

export type Fields<Record> = { readonly [Name in keyof Record]-?: Field<Record[Name]> };

function field<T extends SqlValue>(name: string, type: string, parse: (value: unknown) => T | undefined): Field<T> {
  return {
    columns: [name],
    types: [type],
    given: [name],
    exact: [],
    read(row) {
      const value = parse(row[name]);
      // The row of an event is older than a column that came later: see `since`.
      if (value === undefined) throw new Error(`the database gave ${typeof row[name]} for ${name}`);
      return value;
    },
    write: (value) => [value],
  };
}

export const text = <T extends string = string>(name: string) =>
  field(name, 'text', (value) => (typeof value === 'string' ? (value as T) : undefined));

export const longText = (name: string): Field<string> => ({ ...text(name), isLong: true });

export const bytes = (name: string) => field(name, 'bytea', (value) => (Buffer.isBuffer(value) ? value : undefined));

export const integer = (name: string) =>
  field(name, 'bigint', (value) => {
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
  });

/** What a driver gives for a 64-bit integer. One that it has rounded is no value. */
function toBigInt(value: unknown): bigint | undefined {
  return typeof value === 'string' || Number.isSafeInteger(value) ? BigInt(value as string | number) : undefined;
}

/** An id that the database has made, or a reference to one. They are below 2^53 (sqlite.ts). */
export const id = <T extends bigint>(name: string) =>
  field(name, 'bigint', (value) => toBigInt(value) as T | undefined);

/** Any other int64. */
export const bigInteger = (name: string): Field<bigint> => ({ ...field(name, 'bigint', toBigInt), exact: [name] });

export const boolean = (name: string) =>
  field(name, 'boolean', (value) =>
    typeof value === 'number' ? value !== 0 : typeof value === 'boolean' ? value : undefined,
  );

export const oneOf = <const T extends string>(name: string, values: readonly T[]) =>
  field(name, 'text', (value) => values.find((one) => one === value));

/** A field that is absent when a column that its values always have is NULL, or missing as in an older event. */
export function optional<T>({ read, write, given, ...field }: Field<T>): Field<T | undefined> {
  const { columns } = field;
  if (given.length === 0)
    throw new Error(`${columns}: nothing tells an empty record from none: add a column that does`);
  return {
    ...field,
    given: [],
    read: (row) => (given.some((column) => (row[column] ?? null) === null) ? undefined : read(row)),
    write: (value) => (value === undefined ? columns.map(() => null) : write(value)),
  };
}

/** A field whose columns came later: the rows of older events, which lack them, have this value. */
export function since<T>(value: T, { read, ...field }: Field<T>): Field<T> {
  return { ...field, read: (row) => (field.columns.every((column) => row[column] === undefined) ? value : read(row)) };
}

export function record<T extends object>(fields: Fields<T>): Field<T> {
  const all = Object.entries(fields) as [keyof T, Field<T[keyof T]>][];
  return {
    columns: all.flatMap(([, { columns }]) => columns),
    types: all.flatMap(([, { types }]) => types),
    given: all.flatMap(([, { given }]) => given),
    exact: all.flatMap(([, { exact }]) => exact),
    read(row) {
      const result: Partial<T> = {};
      for (const [name, { read }] of all) result[name] = read(row);
      return result as T; // each of its fields has been read
    },
    write: (value) => all.flatMap(([name, { write }]) => write(value[name])),
  };
}

export type Table<R extends object> = ReturnType<typeof table<R>>;

/** A table of records. Parameters of its statements have the names of its columns. */
export function table<R extends object>(name: string, fields: Fields<R>) {
  const { columns, types, exact, read } = record(fields);
  const all = Object.entries(fields) as [keyof R, Field<R[keyof R]>][];
  return {
    name,
    columns,
    types,
    /** The columns of long texts. */
    long: all.flatMap(([, { isLong, columns }]) => (isLong ? columns : [])),
    fields,
    /** The columns as a query selects them: those that SQLite's driver would round as texts. */
    selected: ({ knex }: Engine) =>
      columns.map((column) => (exact.includes(column) ? knex.raw('cast(?? as text) as ??', [column, column]) : column)),
    toRecord: read,
    /** The SQL of the values of columns in `value`, a JSON array of them as `toJson` encodes it. */
    fromJson: ({ fromHex }: Engine, names: readonly string[]): readonly string[] =>
      names.map((name, index) => {
        const [type, value] = [types[columns.indexOf(name)], `value ->> ${index}`];
        return type === 'bytea' ? fromHex(value) : `cast(${value} as ${type})`;
      }),
    /** The parameters of the fields that are in `part`. */
    toParams(part: Partial<R>): Params {
      const params: Record<string, SqlValue> = {};
      for (const [key, field] of all) {
        if (!(key in part)) continue;
        const values = field.write(part[key] as R[keyof R]);
        for (const [index, column] of field.columns.entries()) params[column] = values[index] ?? null;
      }
      return params;
    },
  };
}

/** An instant with the precision of protobuf's Timestamp. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

export function toTimestamp(ms: number): Instant;
export function toTimestamp(ms: number | undefined): Instant | undefined;
export function toTimestamp(ms: number | undefined): Instant | undefined {
  return ms === undefined ? ms : { seconds: BigInt(Math.floor(ms / 1_000)), nanos: (ms % 1_000) * 1_000_000 };
}

/** An instant in the columns `…_seconds` and `…_nanos`. */
export const instant = (name: string) =>
  record<Instant>({ seconds: bigInteger(`${name}_seconds`), nanos: integer(`${name}_nanos`) });

/**
 * A list in one column: a JSON array, as text on both engines. `list('tags', text)` is one of texts, and
 * `list('lines', () => record({ … }))` one of records. Without the column, as in older events, it is empty.
 */
export function list<T>(name: string, item: (name: string) => Field<T>): Field<readonly T[]> {
  const { columns, read, write } = item(name);
  const isPlain = columns.length === 1 && columns[0] === name;
  const toRow = (value: unknown) => (isPlain ? { [name]: value } : (value as Row));
  const toItem = (value: T) => {
    const values = write(value).map((part) => (typeof part === 'bigint' ? String(part) : part)); // keeps all digits
    return isPlain ? values[0] : Object.fromEntries(columns.map((column, index) => [column, values[index]]));
  };
  const json = optional(longText(name));
  return {
    ...json,
    read: (row) => (JSON.parse(json.read(row) ?? '[]') as unknown[]).map((value) => read(toRow(value))),
    write: (values) => [JSON.stringify(values.map(toItem))],
  };
}
