/**
 * What storage asks of a database engine: the seam between the tables' SQL and the machinery that runs it.
 */
import type { Knex } from 'knex';
import type { IsWanted } from '../model.ts';
import type { Params, Statement } from './statement.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Runs statements, in a transaction or outside of one. */
export interface Runner {
  all(statement: Statement, params: Params): Promise<readonly Row[]>;
}

export interface Engine {
  /** Composes SQL in the engine's dialect. It never runs any. */
  readonly knex: Knex;
  /** Runs one reading statement on the newest committed state. */
  readonly reader: Runner;
  /** Narrows a query to rows whose `column` is among the numbers of a JSON array, bound as `ids`. */
  whereIdIn(query: Knex.QueryBuilder, column: string): Knex.QueryBuilder;
  /** Makes a query in a transaction keep others from changing its rows until the end. */
  forUpdate(query: Knex.QueryBuilder): Knex.QueryBuilder;
  /**
   * Runs `work` as one transaction and resolves once it is durable. Whatever `work` throws undoes it, and only it.
   * Work that nobody waits for any more when its turn comes is not begun: it rejects with WorkAbandoned.
   */
  transaction<T>(work: (tx: Runner) => Promise<T>, isWanted: IsWanted): Promise<T>;
  close(): Promise<void>;
}

/** The row of a statement that always has one. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, not ${rows.length}`);
  return row;
}
