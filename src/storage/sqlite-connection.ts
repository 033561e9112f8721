/** One `sqlite3` connection as promises, with every statement prepared when it is first run and kept. */
import sqlite3 from 'sqlite3';
import type { Row, Runner } from './engine.ts';
import type { Params, SqlValue, Statement } from './statement.ts';

type Callback = (error: Error | null) => void;

/** Resolves when a callback-style function has called back without an error. */
function promised(run: (callback: Callback) => void): Promise<void> {
  return new Promise((resolve, reject) => run((error) => (error === null ? resolve() : reject(error))));
}

export class SqliteConnection implements Runner {
  readonly #database: sqlite3.Database;
  readonly #prepared = new Map<Statement, sqlite3.Statement>();

  private constructor(database: sqlite3.Database) {
    this.#database = database;
  }

  static async open(file: string, pragmas: readonly string[]): Promise<SqliteConnection> {
    let database: sqlite3.Database | undefined;
    await promised((callback) => {
      database = new sqlite3.Database(file, callback);
    });
    if (database === undefined) throw new Error(`could not open ${file}`);
    const opened = database;
    for (const pragma of pragmas) await promised((callback) => opened.exec(pragma, callback));
    return new SqliteConnection(opened);
  }

  all(statement: Statement, params: Params): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      const values = statement.bind(params).map(toSqlite);
      this.#prepare(statement).all(values, (error: Error | null, rows: Row[]) => {
        if (error === null) resolve(rows);
        else reject(error);
      });
    });
  }

  async close(): Promise<void> {
    const statements = [...this.#prepared.values()];
    await Promise.all(statements.map((prepared) => promised((callback) => prepared.finalize(() => callback(null)))));
    await promised((callback) => this.#database.close(callback));
  }

  #prepare(statement: Statement): sqlite3.Statement {
    let prepared = this.#prepared.get(statement);
    if (prepared === undefined) {
      prepared = this.#database.prepare(statement.sql);
      this.#prepared.set(statement, prepared);
    }
    return prepared;
  }
}

/**
 * `sqlite3` binds no bigint. Every id that exists is far below 2^53, and a larger one loses precision only among
 * numbers that name nothing.
 */
function toSqlite(value: SqlValue): SqlValue {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value;
}
