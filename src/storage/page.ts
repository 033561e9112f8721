/** Keyset pagination: selects the rows after the last id, and one more to find out whether there is another page. */
import type { Knex } from 'knex';
import type { Page, PageRequest } from '../model.ts';
import { toJson } from './bulk.ts';
import type { Runner } from './engine.ts';
import type { Row } from './row.ts';
import { NamedReads } from './shared-reads.ts';
import { type Params, param, type Statement } from './statement.ts';

/** Returns the values of a paged statement's parameters `after` and `rows`. */
export function pageParams(page: PageRequest): { after: bigint; rows: number } {
  return { after: page.after, rows: page.limit + 1 };
}

/** Reads a page. Concurrent reads of the same page share one query. */
export type ReadPage<T> = (statement: Statement, filter: object, page: PageRequest) => Promise<Page<T>>;

export function pageReader<T>(reader: Runner, toRecord: (row: Row) => T): ReadPage<T> {
  const reads = new NamedReads<Page<T>>();
  return (statement, filter, page) => {
    const params: Params = { ...filter, ...pageParams(page) };
    const name = `${statement.name} ${toJson([statement.bind(params)])}`;
    return reads.read(name, async () => toPage(await reader.all(statement, params), page, toRecord));
  };
}

/** Limits a query to one page in ascending order of id. (The limit is raw: knex's `limit` takes no parameter.) */
export function keysetPage(query: Knex.QueryBuilder, id = 'id'): Knex.QueryBuilder {
  return query.where(id, '>', param('after')).orderByRaw('?? limit ?', [id, param('rows')] as never);
}

export function toPage<T>(rows: readonly Row[], page: PageRequest, toRecord: (row: Row) => T): Page<T> {
  return { rows: rows.slice(0, page.limit).map(toRecord), hasMore: rows.length > page.limit };
}

/** Returns the names of the filters that are set, in the order of the object's keys. */
export function filtersInUse(filters: object): string[] {
  return Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}
