/**
 * SQL composed once, with knex, and run many times as a prepared statement.
 *
 * A statement is built with `param('name')` where a value will stand; running it maps the named values to the
 * places in which knex put them. Composing costs about 60 µs and happens once, not per request.
 */
import type { Knex } from 'knex';
import type { Engine } from './engine.ts';
import { integer, type Row } from './row.ts';

export type SqlValue = string | number | bigint | boolean | Buffer | null;
/** Values by name. One that a statement has no place for is not looked at. */
export type Params = Readonly<Record<string, SqlValue | undefined>>;

export interface Statement {
  /** Unique: the name of the prepared statement. */
  readonly name: string;
  readonly sql: string;
  /** The values in the order of the SQL's placeholders. */
  bind(params: Params): SqlValue[];
  /** There when one run can do what several callers want. */
  readonly shared?: SharedRuns;
}

/** How one run of a statement serves several callers, of whom each gets one row or none. */
interface SharedRuns {
  bindAll(callers: readonly Params[]): SqlValue[];
  /** The rows of such a run by caller, in the order of the callers. */
  share(callers: readonly Params[], rows: readonly Row[]): (readonly Row[])[];
}

class Param {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A place in a statement to be filled in at each run. */
export function param(name: string): Knex.Value {
  return new Param(name) as unknown as Knex.Value;
}

export function compile(name: string, query: Knex.QueryBuilder | Knex.Raw): Statement {
  const { sql, bindings } = query.toSQL().toNative();
  const slots: readonly (Param | SqlValue)[] = [...bindings] as (Param | SqlValue)[];
  return {
    name,
    sql,
    bind: (params) =>
      slots.map((slot) => {
        if (!(slot instanceof Param)) return slot;
        const value = params[slot.name];
        if (value === undefined) throw new TypeError(`statement ${name} needs a value for ${slot.name}`);
        return value;
      }),
  };
}

/**
 * An insert from `engine.elementsOf('elements')`, in the order of the keys: each element has the parameters `names` of
 * one caller. It returns ids; `isOf` says whether a row can be a caller's. When it can be that of two, then what they
 * want is refused to both or to neither.
 */
export function compileInsert(
  name: string,
  query: Knex.QueryBuilder | Knex.Raw,
  { toElements }: Engine,
  names: readonly string[],
  isOf: (params: Params, row: Row) => boolean,
): Statement {
  const { bind, ...statement } = compile(name, query);
  const bindAll = (callers: readonly Params[]) =>
    bind({ elements: toElements(callers.map((params) => names.map((param) => params[param] ?? null))) });
  const share = (callers: readonly Params[], rows: readonly Row[]) => {
    const inOrder = rows.toSorted((one, other) => integer(one.id) - integer(other.id));
    let next = 0;
    return callers.map((params) => {
      const row = inOrder[next];
      if (row === undefined || !isOf(params, row)) return [];
      next += 1;
      return [row];
    });
  };
  return { ...statement, bind: (params) => bindAll([params]), shared: { bindAll, share } };
}

/** Composes each variant of a statement when it is first needed, and keeps it. `variant` names the filters in use. */
export function compiledByVariant(
  name: string,
  compose: (filters: ReadonlySet<string>) => Knex.QueryBuilder,
): (filters: readonly string[]) => Statement {
  const variants = new Map<string, Statement>();
  return (filters) => {
    const key = filters.join(',');
    let statement = variants.get(key);
    if (statement === undefined) {
      statement = compile(`${name}:${key}`, compose(new Set(filters)));
      variants.set(key, statement);
    }
    return statement;
  };
}
