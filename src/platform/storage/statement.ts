/**
 * Statements that knex composes once, which costs about 60 µs, and the driver runs as prepared statements.
 *
 * `param('name')` marks a parameter in a query. `bind` puts the named values in the order of the SQL's placeholders.
 */
import type { Knex } from 'knex';

/** An array is a list of ids: texts of letters, digits, "-" and "_", or integers. */
export type SqlValue = string | number | bigint | boolean | Buffer | null | readonly (bigint | string)[];

export type Row = Readonly<Record<string, unknown>>;

/** Parameter values by name. Names that the statement does not use are ignored. */
export type Params = Readonly<Record<string, SqlValue | undefined>>;

export interface Statement {
  /** The unique name of the prepared statement. */
  readonly name: string;
  readonly sql: string;
  /** The values of a caller, or of all who share a run, in the order of the SQL's placeholders. */
  bind(...callers: readonly Params[]): SqlValue[];
  /** Assigns the rows of a run to those who share it, in their order. Without it a run serves one caller. */
  share?(callers: readonly Params[], rows: readonly Row[]): (readonly Row[])[];
}

class Param {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export function param(name: string): Knex.Value {
  return new Param(name) as unknown as Knex.Value; // knex passes any object through to the bindings
}

/** Parameters for the columns. */
export function paramsOf(columns: readonly string[], given: typeof param = param): Record<string, Knex.Value> {
  return Object.fromEntries(columns.map((column) => [column, given(column)]));
}

export function compile(name: string, query: Knex.QueryBuilder | Knex.Raw): Statement {
  const { sql, bindings } = query.toSQL().toNative();
  const slots: readonly (Param | SqlValue)[] = [...bindings] as (Param | SqlValue)[];
  return {
    name,
    sql,
    bind: (params = {}) =>
      slots.map((slot) => {
        if (!(slot instanceof Param)) return slot;
        const value = params[slot.name];
        if (value === undefined) throw new TypeError(`statement ${name} needs a value for ${slot.name}`);
        return value;
      }),
  };
}

/** Encodes the parameters `names` of several callers as a JSON array of arrays. Bigints keep all of their digits. */
export function toJson(callers: readonly Params[], names: readonly string[]): string {
  return `[${callers.map((params) => toJsonArray(names.map((name) => params[name] ?? null))).join()}]`;
}

/** Encodes values as a JSON array, bytes in hexadecimal. */
export const toJsonArray = (values: readonly SqlValue[]) => `[${values.map(toJsonValue).join()}]`;

function toJsonValue(value: SqlValue): string {
  if (typeof value === 'bigint') return String(value);
  return Buffer.isBuffer(value) ? `"${value.toString('hex')}"` : JSON.stringify(value);
}
