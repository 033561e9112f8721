/**
 * What storage asks of a database engine: the seam between the tables' SQL and the machinery that runs it.
 */
import type { Knex } from 'knex';
import type { IsCancelled } from '../model.ts';
import type { PoolReading } from './postgres-pool.ts';
import type { Params, SqlValue, Statement } from './statement.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Runs statements, in a transaction or outside of one. */
export interface Runner {
  all(statement: Statement, params: Params): Promise<readonly Row[]>;
}

/** The thing that a transaction locks first and may wait for: `pet 7`. Found out only where transactions wait. */
export type Contended = string | (() => Promise<string | undefined>);

/** What a table's ids are. Those that are text hold nothing but letters, digits, "-" and "_". */
export type IdType = 'bigint' | 'text';

/** How the engine is at the moment. */
export interface EngineState {
  /** The last calls failed because the database is away, or lacks room. */
  readonly isAway: boolean;
  /** By name, where there are pools of connections. */
  readonly pools?: Readonly<Record<string, PoolReading>>;
}

export interface Engine {
  readonly state: EngineState;
  /** Composes SQL in the engine's dialect. It never runs any. */
  readonly knex: Knex;
  /** Runs one reading statement on the newest committed state. */
  readonly reader: Runner;
  /** Narrows a query to rows whose `column` is among some ids, bound as `ids` in the form that `toIdList` gives them. */
  whereIdIn(query: Knex.QueryBuilder, column: string, type?: IdType): Knex.QueryBuilder;
  toIdList(ids: readonly (bigint | string)[]): SqlValue;
  /** The elements of a JSON array, bound as text under `name`: a table for `from`, with their `key` and `value`. */
  elementsOf(name: string): Knex.Raw;
  /** Such an array of arrays. Its texts are in the form in which the engine stores them. */
  toElements(rows: readonly (readonly SqlValue[])[]): string;
  /** Makes a query in a transaction keep others from changing its rows until the end. */
  forUpdate(query: Knex.QueryBuilder): Knex.QueryBuilder;
  /** Makes a query keep others from deleting its rows until the end of the transaction, or of the statement. */
  forKeyShare(query: Knex.QueryBuilder): Knex.QueryBuilder;
  /**
   * Runs `work` as one transaction and resolves once it is durable. Whatever `work` throws undoes it, and only it.
   * Work that is cancelled before its turn comes is not begun: it rejects with Cancelled. Where
   * transactions can get in each other's way, `work` may be run anew after it was undone, and those with the
   * same `contended` thing wait for each other before they take what all need.
   */
  transaction<T>(work: (tx: Runner) => Promise<T>, isCancelled?: IsCancelled, contended?: Contended): Promise<T>;
  /** A transaction of a single statement, which needs fewer trips to the database. */
  write(statement: Statement, params: Params, isCancelled?: IsCancelled): Promise<readonly Row[]>;
  /** Runs `work` while no other process that shares the database is in here. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Closes the database. Nothing is under way any more. */
  close(): Promise<void>;
}

/** The row of a statement that always has one. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, not ${rows.length}`);
  return row;
}
