/** Pages of a list by keyset. A page is bounded by rows, and by bytes where the table has long texts. */
import type { Knex } from 'knex';
import type { Engine, Given } from '../storage/engine.ts';
import { type Params, param, type Row, type Statement, toJsonArray } from '../storage/statement.ts';
import type { Table } from './fields.ts';
import { sharedReads } from './shared-reads.ts';
import { BY_ID, type Key, type Page, type PageRequest, type SortOrder } from './sort-order.ts';

/** Restricts a list to records with these values. An undefined one restricts nothing. */
export type Filter<R> = { readonly [Name in keyof R]?: R[Name] | undefined };

/** Makes what has a name when it is first needed. */
function memo<T>(): (name: string, make: (name: string) => T) => T {
  const made = new Map<string, T>();
  return (name, make) => {
    const value = made.get(name) ?? make(name);
    made.set(name, value);
    return value;
  };
}

/** The maximum number of rows that one statement reads for pages. It takes some 2 ms. */
const MAX_ROWS = 2_000;
/** What the long texts of a page have together in JSON. A page of large rows is a short one. */
export const PAGE_BYTES = 65_536;
/** The most bytes that JSON makes of one: `\u0001`. */
const MAX_ESCAPED = 6;
/** Any text is shorter. */
const ANY_LENGTH = 2 ** 31 - 1;

/** What the long texts of a row have. No column or parameter of a table has such a name. */
const BYTES = '#bytes';
const sizeOf = (row: Row) => Number(row[BYTES]);

const bytesOf = (rows: readonly Row[]) => rows.reduce((sum, row) => sum + sizeOf(row), 0);

function keyed(name: string, key: Key | undefined): Params {
  if (key === undefined) return {};
  return typeof key === 'bigint' ? { [`${name}0`]: key } : Object.fromEntries(key.map((part, at) => [name + at, part]));
}

/** How many of these sizes fit, one at least. */
export function fitting(sizes: readonly number[], maxBytes: number): number {
  let [count, bytes] = [0, 0];
  for (const size of sizes) {
    bytes += size;
    if (bytes > maxBytes && count > 0) break;
    count += 1;
  }
  return count;
}

/**
 * Reads pages by keyset: the rows after the last id, and one more that tells whether there is another page. Concurrent
 * reads of pages of the same size, with filters on the same columns, can share a statement. `select` makes a query of
 * these columns without an order, with `given` in place of `param`. The columns of filters are those of an index, in
 * the order of the table's, before those of the list's order. Each page is of rows with the values of `scope`, columns
 * that the index begins with, in the others of its parameters.
 *
 * Of a table with long texts a page is read once as a rule. A row with more than its share of the bytes comes without
 * its texts. Then it is known how many rows fit, and a page of these is read.
 */
export function pages<R extends object>(
  engine: Engine,
  table: Table<R>,
  select: (columns: (string | Knex.Raw)[], given: Given) => Knex.QueryBuilder,
  order: SortOrder = BY_ID,
  scope: readonly string[] = [],
) {
  const { knex, reader, compilePage, guessesByColumn } = engine;
  const { long } = table;
  const selected = table.selected(engine);
  const size = knex.raw(long.map(() => 'coalesce(octet_length(??), 0)').join(' + '), long);
  const shortOnly = (column: string, given: Given) =>
    knex.raw('case when ? <= ? then ?? end as ??', [size, given('#share'), column, column]);
  const { columns: by, types, isDescending } = order;
  if (by.some((column, at) => types[at] !== table.types[table.columns.indexOf(column)]))
    throw new Error(`${table.name}: its ids are texts, so its list needs an order: one that orderBy makes`);
  /** The rows on one side of a key, in the order of these columns and then of the list. */
  const side = (first: readonly string[], operator: '<' | '>', key: string, given: Given) => {
    const keys = by.map((_, at) => given(key + at, types[at]));
    const row = (parts: readonly string[]) => (parts.length === 1 ? `${parts}` : `(${parts})`);
    const columns = [...first, ...by];
    const values = [...first.map((column) => given(column)), ...keys];
    return knex.raw(`${row(columns)} ${operator} ${row(columns.map(() => '?'))}`, values);
  };
  /** The column itself, which `selected` may have as a text of the same name. */
  const named = (column: string) =>
    typeof selected[table.columns.indexOf(column)] === 'object' || long.includes(column)
      ? `${table.name}.${column}`
      : column;
  const direction = isDescending ? ' desc' : '';
  const variants = memo<Statement>();
  const statement = (filters: readonly string[], isEnded: boolean) => {
    const filtered = [...scope, ...filters];
    const compose = (given: Given) => {
      const columns = table.columns.map((column, index) =>
        long.includes(column) ? shortOnly(column, given) : (selected[index] ?? column),
      );
      const query = select(long.length === 0 ? columns : [...columns, knex.raw('? as ??', [size, BYTES])], given);
      const first = guessesByColumn ? filtered.filter((column) => !by.includes(column)).slice(-1) : [];
      if (isEnded) query.where(side(first, isDescending ? '>' : '<', '#until', given));
      query.where(side(first, isDescending ? '<' : '>', '#after', given));
      for (const column of filtered)
        query.where(column, !first.includes(column) ? '=' : isDescending ? '>=' : '<=', given(column));
      const inOrder = [...first, ...by].map((column) => named(column) + direction);
      return query.orderByRaw(`${inOrder} limit ?`, [param('#rows')]); // knex's `limit` takes no parameter
    };
    const names = long.length === 0 ? table.columns : [...table.columns, BYTES];
    const name = `${table.name}.${order.name}:${isEnded ? [...filtered, 'until'] : filtered}`;
    return variants(name, () => compilePage(name, names, compose));
  };
  const readers = memo<(params: Params) => Promise<Page<R>>>();
  return (request: PageRequest, filter: Filter<R> = {}, others: Params = {}): Promise<Page<R>> => {
    const { after, until, limit, maxBytes = PAGE_BYTES } = request;
    const inUse = Object.entries(filter).filter(([, value]) => value !== undefined);
    const filters = table.toParams(Object.fromEntries(inUse) as Partial<R>);
    const page = statement(Object.keys(filters), until !== undefined);
    const share = Math.floor(maxBytes / (limit + 1));
    const inJson = (row: Row) =>
      long.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(row[name] ?? '')), 0);
    const toPage = (rows: readonly Row[], atMost: number) => {
      const mayExceed = long.length > 0 && MAX_ESCAPED * bytesOf(rows) > maxBytes;
      const count = mayExceed ? fitting(rows.slice(0, atMost).map(inJson), maxBytes) : atMost;
      return { rows: rows.slice(0, count).map(table.toRecord), hasMore: rows.length > count };
    };
    const read = readers(`${page.name} ${limit} ${maxBytes}`, () => {
      const readOne = async (params: Params) => {
        const rows = await reader.all(page, params);
        if (long.length === 0 || rows.every((row) => sizeOf(row) <= share)) return toPage(rows, limit);
        const count = fitting(rows.slice(0, limit).map(sizeOf), maxBytes);
        return toPage(await reader.all(page, { ...params, '#share': ANY_LENGTH, '#rows': count + 1 }), count);
      };
      const load = async (all: readonly Params[]) => all.map(readOne); // in one run if the engine can
      return sharedReads(load, (params) => toJsonArray(page.bind(params)), MAX_ROWS / (limit + 1));
    });
    const range = { ...keyed('#after', after), ...keyed('#until', until) };
    return read({ ...others, ...filters, ...range, '#share': share, '#rows': limit + 1 });
  };
}

/** The rows with these values, by the index whose columns they are. One that finds none reads none. */
export function whereInIndex(
  { guessesByColumn }: Engine,
  query: Knex.QueryBuilder,
  values: Readonly<Record<string, Knex.Value>>,
): Knex.QueryBuilder {
  const last = guessesByColumn ? Object.keys(values).at(-1) : undefined;
  for (const [column, value] of Object.entries(values)) {
    if (column === last) query.where(column, '>=', value).where(column, '<=', value).orderBy(column);
    else query.where(column, value);
  }
  return query;
}
