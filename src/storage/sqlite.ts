/**
 * The SQLite engine: one connection that writes, one that reads, each with its statements prepared once.
 *
 * WAL lets the reader go on while the writer waits for the disk; `synchronous=FULL` makes every commit
 * durable before it is answered. The writer's transactions go through GroupCommit.
 *
 * While the disk is full writes fail and reads go on. Nothing has to be opened again when there is room.
 */
import makeKnex from 'knex';
import type { AvailabilityListener } from './availability.ts';
import { toJson } from './bulk.ts';
import type { Engine, EngineState } from './engine.ts';
import { type Commands, type CommitListener, GroupCommit } from './group-commit.ts';
import { type MigrationListener, migrate } from './migrate.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { isKept, toStoreError } from './sqlite-errors.ts';
import { param } from './statement.ts';
import { StoreUnavailable } from './store-errors.ts';

/** How long a statement waits for another process's lock on the file. */
const BUSY_TIMEOUT_MS = 5_000;

const WAIT = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`;
const DO_NOT_WAIT = 'PRAGMA busy_timeout = 0';

const PRAGMAS = [WAIT, 'PRAGMA journal_mode = WAL', 'PRAGMA synchronous = FULL', 'PRAGMA foreign_keys = ON'];

/** So long after the last failure a write that succeeds says that the database is back. */
const SURE_MS = 1_000;

export interface SqliteOptions extends AvailabilityListener, MigrationListener {
  readonly commitListener?: CommitListener | undefined;
  /** Whether the schema is brought up to date, rather than only looked at. */
  readonly migrates?: boolean;
}

/**
 * Opens `file`, creates it if need be, and brings its schema up to date.
 *
 * @throws StoreUnavailable when another process keeps the file for too long, or there is no room.
 * @throws SchemaRefused when the schema is not one that this release works with.
 */
export async function openSqlite(file: string, options: SqliteOptions = {}): Promise<Engine> {
  const knex = makeKnex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true });
  try {
    for (const pragma of PRAGMAS) await knex.raw(pragma);
    await migrate(knex, { migrates: options.migrates ?? true }, options);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    await knex.destroy(); // from here on it composes SQL and runs none
  }
  const writer = await SqliteConnection.open(file, [...PRAGMAS, DO_NOT_WAIT]);
  const reader = await SqliteConnection.open(file, [...PRAGMAS, 'PRAGMA query_only = ON']);
  const commits = new GroupCommit(transactionCommands(writer), options.commitListener);
  const writes = new Writes(options);
  const noted = <T>(write: Promise<T>) => writes.note(write);
  return {
    knex,
    state: writes,
    reader,
    whereIdIn: (query, column) =>
      query.whereIn(column, (ids) => {
        ids.select('value').fromRaw('json_each(?)', [param('ids')] as never);
      }),
    toIdList: (ids) => `[${ids.map((id) => (typeof id === 'string' ? `"${id}"` : id)).join(',')}]`,
    elementsOf: (name) => knex.raw('json_each(?)', [param(name)]),
    toElements: toJson,
    // There is one writer: nobody else can change or delete anything meanwhile.
    forUpdate: (query) => query,
    forKeyShare: (query) => query,
    transaction: (work, isCancelled) => noted(commits.submit(() => work(writer), isCancelled)),
    write: (statement, params, isCancelled) => noted(commits.submitStatement(statement, params, isCancelled)),
    withAdvisoryLock: (work) => work(), // one process owns the file
    async close() {
      // One after the other: the last one out folds the WAL into the file, and at the same time neither would be the last.
      await reader.close();
      await writer.close();
    },
  };
}

/** How writes go. */
class Writes implements EngineState {
  readonly #listener: AvailabilityListener;
  #failedAtMs: number | undefined;

  constructor(listener: AvailabilityListener) {
    this.#listener = listener;
  }

  get isAway(): boolean {
    return this.#failedAtMs !== undefined;
  }

  note<T>(write: Promise<T>): Promise<T> {
    write.then(
      () => this.#noteSuccess(),
      (error: unknown) => this.#noteFailure(error),
    );
    return write;
  }

  #noteFailure(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) return;
    if (this.#failedAtMs === undefined) this.#listener.onAway?.(error);
    this.#failedAtMs = performance.now();
  }

  #noteSuccess(): void {
    if (this.#failedAtMs === undefined || performance.now() < this.#failedAtMs + SURE_MS) return;
    this.#failedAtMs = undefined;
    this.#listener.onBack?.();
  }
}

/** Only the beginning of a transaction waits for another process: whatever waits behind it can still be taken back. */
function transactionCommands(writer: SqliteConnection): Commands {
  return {
    begin: () => writer.exec(`${WAIT}; BEGIN IMMEDIATE; SAVEPOINT work; ${DO_NOT_WAIT}`),
    next: () => writer.exec('RELEASE work; SAVEPOINT work'),
    undo: () => writer.exec('ROLLBACK TO work'),
    commit: () => writer.exec('RELEASE work; COMMIT'),
    rollback: () => writer.exec(`${DO_NOT_WAIT}; ROLLBACK`),
    isLocked: (error) => error instanceof StoreUnavailable && isKept(error),
    run: (statement, callers) => writer.allFor(statement, callers),
  };
}
