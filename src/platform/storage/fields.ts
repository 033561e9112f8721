/**
 * The fields of a table's records. A field is stored in one column or several, and reads what either engine gives for
 * them: SQLite gives every integer and boolean as a number; PostgreSQL gives a 64-bit integer as text.
 */

/** An array is a list of ids: texts of letters, digits, "-" and "_", or integers. */
export type SqlValue = string | number | bigint | boolean | Buffer | null | readonly (bigint | string)[];

export type Row = Readonly<Record<string, unknown>>;

export interface Field<T> {
  readonly columns: readonly string[];
  /** The SQL types of the columns, for casts of JSON values. */
  readonly types: readonly string[];
  /** Whether a value may have more than a kilobyte: pages are then bounded by bytes, too. */
  readonly isLong?: boolean;
  /** @throws Error when the database gives anything but a T. */
  read(row: Row): T;
  /** The values of the columns. */
  write(value: T): readonly SqlValue[];
}

/** The fields of a record. */
export type Fields<Record> = { readonly [Name in keyof Record]-?: Field<Record[Name]> };

function field<T extends SqlValue>(name: string, type: string, parse: (value: unknown) => T | undefined): Field<T> {
  return {
    columns: [name],
    types: [type],
    read(row) {
      const value = parse(row[name]);
      if (value === undefined) throw new Error(`the database gave ${typeof row[name]} for ${name}`);
      return value;
    },
    write: (value) => [value],
  };
}

export const text = (name: string) => field(name, 'text', (value) => (typeof value === 'string' ? value : undefined));

export const longText = (name: string): Field<string> => ({ ...text(name), isLong: true });

export const bytes = (name: string) => field(name, 'bytea', (value) => (Buffer.isBuffer(value) ? value : undefined));

export const integer = (name: string) =>
  field(name, 'bigint', (value) => {
    const number = typeof value === 'string' ? Number(value) : value;
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
  });

/** An integer that is no `number`: an id, or seconds. */
export const bigInteger = <T extends bigint>(name: string) =>
  field(name, 'bigint', (value) =>
    typeof value === 'number' || typeof value === 'string' ? (BigInt(value) as T) : undefined,
  );

export const boolean = (name: string) =>
  field(name, 'boolean', (value) =>
    typeof value === 'number' ? value !== 0 : typeof value === 'boolean' ? value : undefined,
  );

/** A text that is one of `values`. */
export const oneOf = <const T extends string>(name: string, values: readonly T[]) =>
  field(name, 'text', (value) => values.find((one) => one === value));

/** A field that is absent when a column of it is NULL. In the row of an event a column that came later is missing. */
export function optional<T>({ read, write, ...field }: Field<T>): Field<T | undefined> {
  const { columns } = field;
  return {
    ...field,
    read: (row) => (columns.some((column) => (row[column] ?? null) === null) ? undefined : read(row)),
    write: (value) => (value === undefined ? columns.map(() => null) : write(value)),
  };
}

/** A record within a record. */
export function record<T extends object>(fields: Fields<T>): Field<T> {
  const all = Object.entries(fields) as [keyof T, Field<T[keyof T]>][];
  return {
    columns: all.flatMap(([, { columns }]) => columns),
    types: all.flatMap(([, { types }]) => types),
    read(row) {
      const result: Partial<T> = {};
      for (const [name, { read }] of all) result[name] = read(row);
      return result as T; // each of its fields has been read
    },
    write: (value) => all.flatMap(([name, { write }]) => write(value[name])),
  };
}

/**
 * A list in one column: a JSON array, as text on both engines. `list('tags', text)` is one of texts, and
 * `list('lines', () => record({ … }))` one of records. The default of the column is `[]`, which is also read where the
 * row of an event is older than the column.
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
