/** A `sqlite3` connection with promises. Each statement is prepared when it first runs, and kept. */
import sqlite3 from 'sqlite3';
import type { Runner } from './engine.ts';
import { type Params, type Row, type SqlValue, type Statement, toJsonArray } from './statement.ts';
import { NotUnique, StoreUnavailable } from './store-errors.ts';

type Callback = (error: Error | null) => void;

/** A run of a statement that is about to begin. */
interface SharedRun {
  readonly callers: Params[];
  /** The rows of each caller. */
  readonly rows: Promise<readonly (readonly Row[])[]>;
}

/** Converts a function with a callback to a promise of what it returns. Without one, `sqlite3` may end the process. */
async function promised<T>(run: (callback: Callback) => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const result = run((error) => (error === null ? resolve() : reject(toStoreError(error))));
  await promise;
  return result;
}

/** Opens a file for a connection, which begins with these commands. */
export async function openDatabase(file: string, pragmas: readonly string[]): Promise<sqlite3.Database> {
  const database = await promised((callback) => new sqlite3.Database(file, callback));
  await promised((callback) => database.exec(pragmas.join(';'), callback));
  return database;
}

export class SqliteConnection implements Runner {
  readonly #database: sqlite3.Database;
  readonly #prepared = new Map<Statement, Promise<sqlite3.Statement>>();
  /** By the statement and, of a page (`compilePage`), the parameter `#rows`: callers of a run share both. */
  readonly #nextRuns = new Map<Statement, Map<Params[string], SharedRun>>();

  constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  /** Runs a statement when its turn comes. */
  protected inTurn<T>(run: () => Promise<T>): Promise<T> {
    return run();
  }

  /** Callers that run a statement at the same time share one run if they can. */
  async all(statement: Statement, params: Params): Promise<readonly Row[]> {
    const { share } = statement;
    if (share === undefined) return this.#run(statement, statement.bind(params));
    const size = params['#rows'];
    const { callers, rows } = this.#nextRuns.get(statement)?.get(size) ?? this.#planRun(statement, share, size);
    const index = callers.push(params) - 1;
    return (await rows)[index] ?? [];
  }

  /** The run begins when nothing else is left to do at once, so that all who want it now are among its callers. */
  #planRun(statement: Statement, share: NonNullable<Statement['share']>, size: Params[string]): SharedRun {
    const runs = this.#nextRuns.get(statement) ?? new Map<Params[string], SharedRun>();
    this.#nextRuns.set(statement, runs);
    const callers: Params[] = [];
    const run = async () => {
      await new Promise<void>((resolve) => process.nextTick(resolve));
      runs.delete(size);
      return share(callers, await this.#run(statement, statement.bind(...callers)));
    };
    const next = { callers, rows: run() };
    runs.set(size, next);
    return next;
  }

  #run(statement: Statement, bound: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.inTurn(async () => {
      const prepared = await this.#prepare(statement);
      let found: readonly Row[] = [];
      await promised((callback) =>
        prepared.all(bound.map(toSqlite), (error: Error | null, rows: Row[]) => {
          found = rows;
          callback(error);
        }),
      );
      return found;
    });
  }

  /** Runs SQL commands without parameters or rows, in one trip to the database's thread. */
  async exec(sql: string): Promise<void> {
    await promised((callback) => this.#database.exec(sql, callback));
  }

  async close(): Promise<void> {
    for (const preparing of this.#prepared.values()) {
      const prepared = await preparing.catch(() => undefined);
      if (prepared !== undefined) await promised((callback) => prepared.finalize(() => callback(null)));
    }
    await promised((callback) => this.#database.close(callback));
  }

  #prepare(statement: Statement): Promise<sqlite3.Statement> {
    let preparing = this.#prepared.get(statement);
    if (preparing === undefined) {
      preparing = promised((callback) => this.#database.prepare(statement.sql, callback));
      this.#prepared.set(statement, preparing);
      preparing.catch(() => this.#prepared.delete(statement)); // the next call tries again
    }
    return preparing;
  }
}

/** `sqlite3` does not bind bigint. A column of integers takes the text of one for the number that it is. */
function toSqlite(value: SqlValue): SqlValue {
  if (typeof value === 'bigint') return BigInt.asIntN(53, value) === value ? Number(value) : String(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return Array.isArray(value) ? toJsonArray(value) : value;
}

/** Result codes (https://sqlite.org/rescode.html): no room, a disk that fails, another process's lock, no memory. */
const UNAVAILABLE = ['SQLITE_FULL', 'SQLITE_IOERR', 'SQLITE_BUSY', 'SQLITE_NOMEM'];

/** The file is damaged, or not readable and writable for this user. */
const UNUSABLE = ['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_CANTOPEN', 'SQLITE_READONLY'];

/** Whether another process has locked the file. */
export const isLocked = (error: unknown) => hasCode(error, ['SQLITE_BUSY']);

/** Returns the error that storage throws for an error of sqlite3. */
export function toStoreError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (/^SQLITE_CONSTRAINT: UNIQUE/.test(message)) return new NotUnique(message, { cause: error }); // no own code
  return hasCode(error, UNAVAILABLE) ? new StoreUnavailable(error.message, { cause: error }) : error;
}

/** Whether the file itself can't be used: a retry would not help. */
export const isUnusable = (error: unknown): error is Error => hasCode(error, UNUSABLE);

function hasCode(error: unknown, codes: readonly string[]): error is Error {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
