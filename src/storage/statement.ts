/**
 * Statements that knex composes once and the driver runs as prepared statements.
 *
 * `param('name')` marks a parameter in a query. When the statement runs, `bind` puts the named values in the order of
 * the SQL's placeholders. Composing a query costs about 60 µs, so it is not done per request.
 */
import type { Knex } from 'knex';
import { toJson } from './bulk.ts';
import { integer, type Row } from './row.ts';

export type SqlValue = string | number | bigint | boolean | Buffer | null;
/** Parameter values by name. Names that the statement does not use are ignored. */
export type Params = Readonly<Record<string, SqlValue | undefined>>;

export interface Statement {
  /** The unique name of the prepared statement. */
  readonly name: string;
  readonly sql: string;
  /** The values in the order of the SQL's placeholders. */
  bind(params: Params): SqlValue[];
  /** Set when one run can serve several callers. */
  readonly shared?: SharedRuns;
}

/** Serves several callers with one run of a statement. Each caller gets one row or none. */
interface SharedRuns {
  bindAll(callers: readonly Params[]): SqlValue[];
  /** Assigns the rows of the run to the callers, in the order of the callers. */
  share(callers: readonly Params[], rows: readonly Row[]): (readonly Row[])[];
}

class Param {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** Marks a parameter in a query. */
export function param(name: string): Knex.Value {
  return new Param(name) as unknown as Knex.Value; // knex passes any object through to the bindings
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
 * Compiles an insert that several callers can share. The query selects from `engine.elementsOf('elements')` in the
 * order of the keys, and each element holds the parameters `names` of one caller. The query returns ids. `belongsTo`
 * says whether a row can be a caller's; callers to whom the same row can belong must be inserted or refused together.
 */
export function compileInsert(
  name: string,
  query: Knex.QueryBuilder | Knex.Raw,
  names: readonly string[],
  belongsTo: (params: Params, row: Row) => boolean,
): Statement {
  const { bind, ...statement } = compile(name, query);
  const bindAll = (callers: readonly Params[]) =>
    bind({ elements: toJson(callers.map((params) => names.map((param) => params[param] ?? null))) });
  const share = (callers: readonly Params[], rows: readonly Row[]) => {
    const inOrder = rows.toSorted((one, other) => integer(one.id) - integer(other.id));
    let next = 0;
    return callers.map((params) => {
      const row = inOrder[next];
      if (row === undefined || !belongsTo(params, row)) return [];
      next += 1;
      return [row];
    });
  };
  return { ...statement, bind: (params) => bindAll([params]), shared: { bindAll, share } };
}

/** Compiles a variant of a statement for each set of filters, when it is first needed. */
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
