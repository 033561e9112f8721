/** The interface between the tables' SQL and the database engine that runs it: sqlite.ts or postgres.ts. */
import type { Knex } from 'knex';
import type { Owned } from './fair-order.ts';
import type { Params, Row, Statement } from './statement.ts';

/** Returns true once the deadline has passed or the caller has left: a write that has not begun need not begin. */
export type IsCancelled = () => boolean;

/** Runs statements, inside or outside a transaction. */
export interface Runner {
  all(statement: Statement, params: Params): Promise<readonly Row[]>;
}

interface OfWrite extends Owned {
  readonly isCancelled?: IsCancelled | undefined;
}

export interface TransactionOptions extends OfWrite {
  /** What `work` locks first, such as `thing 7`. */
  readonly contended?: string | undefined;
}

export interface WriteOptions extends OfWrite {
  /** 2 with an idempotency record, which needs the first's row; 1, the default, needs no BEGIN. */
  readonly statements?: 1 | 2;
}

/** A parameter whose value each of several callers gives; of this type, where that of the column would be too small. */
export type Given = (name: string, type?: string) => Knex.Value;

export interface StorageLogger {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

export const SILENT: StorageLogger = { info: () => undefined, warn: () => undefined };

export interface EngineOptions {
  /** Whether to migrate the schema, as by default, rather than only check it. */
  readonly migrates?: boolean;
  readonly logger?: StorageLogger;
  /** How long to wait for another process's migrations. */
  readonly maxWaitMs?: number;
  /** Called with the name of each migration before it runs, and without one after the last. */
  readonly onMigration?: ((name: string | undefined) => void) | undefined;
}

export interface PoolUse {
  /** The maximum number of connections. */
  readonly size: number;
  /** Connections that calls use, or that are being opened for them. */
  readonly inUse: number;
  readonly waiting: number;
}

export interface Engine {
  /** Whether calls fail because the database can't be reached or its disk is full. */
  readonly availability: { readonly isAway: boolean };
  /** The connection pools by name, if the engine has any. */
  readonly pools?: Readonly<Record<string, PoolUse>>;
  /** Composes SQL in the engine's dialect. It runs none. */
  readonly knex: Knex;
  /** Runs one read-only statement on the latest committed state. */
  readonly reader: Runner;
  /** Compiles a query of at most `#rows` rows. Callers at the same time share a run of it where that is as fast. */
  compilePage(name: string, columns: readonly string[], compose: (given: Given) => Knex.QueryBuilder): Statement;
  /**
   * Whether the planner takes the values of columns for independent, of each other and of the ids. For values that
   * never go together it would read the whole table in the order of the ids. A query that asks for a range of the last
   * column, in its order, has it use the index on all of them.
   */
  readonly guessesByColumn: boolean;
  /** Restricts a query to rows whose `column` is in the list of ids in the parameter `ids`. */
  whereIdIn(query: Knex.QueryBuilder, column: string): Knex.QueryBuilder;
  /** A table for `from`: the `key` and `value` of each element of the JSON array in the parameter `name`. */
  elementsOf(name: string): Knex.Raw;
  /** The SQL of the bytes whose hexadecimal text is the value of `sql`. */
  fromHex(sql: string): string;
  /**
   * As in store.ts. An engine that runs transactions concurrently runs `work` again after a conflict, and queues those
   * with the same `contended` name before they take a connection.
   */
  transaction<T>(work: (tx: Runner) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** As in store.ts. */
  write<T>(work: (tx: Runner) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** The transactions that change rows of the table, or are about to: they may have taken ids that are not visible. */
  writersOf(table: string): Promise<ReadonlySet<string>>;
  /** Closes the database. All calls must have ended. */
  close(): Promise<void>;
}
