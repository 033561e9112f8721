/**
 * All tables as one store: reads of the latest committed state, and changes.
 *
 * A change is a `transaction`, or a `write` if it runs exactly one statement: with 64 callers on SQLite a write takes
 * 39 µs of CPU time, a transaction 141.
 */
import type { Engine, IsCancelled, Runner } from '../storage/engine.ts';
import type { Migration } from '../storage/migrate.ts';
import { StoreUnavailable } from '../storage/store-errors.ts';
import { idempotencyTable, type Remember } from './idempotency.ts';
import type { OwnerId } from './ids.ts';
import * as idempotency from './migrations/004-idempotency.ts';

/** Makes the reads of each table, and what makes its writes in a transaction. */
export type Tables = Readonly<Record<string, (engine: Engine) => Table>>;

interface Table {
  readonly reads: object;
  readonly writes: (tx: Runner) => object;
}

export const PLATFORM_TABLES = { idempotency: idempotencyTable };

export const PLATFORM_MIGRATIONS: readonly Migration[] = [
  { name: '004-idempotency', up: idempotency.up, isAdditive: true },
];

/** The reads of each table, outside of transactions. */
export type Reads<T extends Tables> = { readonly [Name in keyof T]: ReturnType<T[Name]>['reads'] };

/** The statements of each table, in one transaction. */
export type Transaction<T extends Tables> = { readonly [Name in keyof T]: ReturnType<ReturnType<T[Name]>['writes']> };

/** The call that a write belongs to. */
export interface WritingCall {
  readonly isCancelled: IsCancelled;
  /** Whose it is: writes of several accounts take turns. */
  readonly caller?: { readonly accountId: OwnerId } | undefined;
  /** Makes the idempotency record of the result. */
  readonly remember?: Remember;
}

export interface Writer<T extends Tables> {
  /**
   * Runs `work` as one transaction and resolves once it is durable. If `work` throws, only its own changes are rolled
   * back.
   *
   * @throws Cancelled when the call is cancelled before `work` begins.
   * @throws AlreadyDone when the call's idempotency record exists.
   */
  transaction<R>(work: (tx: Transaction<T>) => Promise<R>): Promise<R>;
  /**
   * Like `transaction`, for work that runs exactly one statement. On SQLite those that wait at the same time run side
   * by side. If one throws, all are undone and run again: so return undefined when there is nothing to change.
   */
  write<R>(work: (tx: Transaction<T>) => Promise<R>): Promise<R>;
}

/** The store as the handlers of calls see it: every write belongs to a call. */
export type CallStore<T extends Tables> = Reads<T> & {
  /**
   * Makes the writes of a call, each in one transaction with the call's idempotency record, if any: none is stored if
   * the result is undefined. Transactions with the same `contended` name, such as a row, run one at a time.
   */
  forCall(call: WritingCall): Writer<T>;
  forCall(call: WritingCall, contended: string | undefined): Pick<Writer<T>, 'transaction'>;
};

/** Every method throws StoreUnavailable after `close`. */
export type Store<T extends Tables> = CallStore<T> &
  Writer<T> & {
    onWrite(listener: () => void): void;
    /** Refuses new calls, waits for those in progress, closes the database. */
    close(): Promise<void>;
  };

export function createStore<T extends Tables & typeof PLATFORM_TABLES>(opened: Engine, makers: T): Store<T> {
  let [calls, isClosed] = [0, false];
  const drained = Promise.withResolvers<void>();
  let onWrite = (): void => undefined;
  const unlessClosed = async <T>(call: () => Promise<T>, isWrite = false): Promise<T> => {
    if (isClosed) throw new StoreUnavailable('the store is closed');
    calls += 1;
    try {
      const result = await call();
      if (isWrite) onWrite();
      return result;
    } finally {
      calls -= 1;
      if (isClosed && calls === 0) drained.resolve();
    }
  };
  const engine: Engine = {
    ...opened,
    reader: { all: (statement, params) => unlessClosed(() => opened.reader.all(statement, params)) },
    transaction: (...args) => unlessClosed(() => opened.transaction(...args), true),
    write: (...args) => unlessClosed(() => opened.write(...args), true),
  };
  const tables = mapTables(makers, (makeTable) => makeTable(engine)) as Readonly<Record<string, Table>>;
  /** Makes the writes of a table when they are used: most transactions use few tables. */
  const bind = (runner: Runner) =>
    new Proxy(tables, { get: (all, name: string) => all[name]?.writes(runner) }) as unknown as Transaction<T>;

  const writerFor = ({ isCancelled, remember, caller }: Partial<WritingCall>, contended?: string): Writer<T> => {
    const options = { isCancelled, owner: caller?.accountId };
    /** Inserts the record of the result, too. Refuses statements after the work, and after the first if `isOne`. */
    const remembering =
      <R>(work: (tx: Transaction<T>) => Promise<R>, isOne = false) =>
      async (runner: Runner): Promise<R> => {
        let refusal: string | undefined;
        const all: Runner['all'] = (statement, params) => {
          if (refusal !== undefined) return Promise.reject(new Error(`${statement.name} ${refusal}`));
          if (isOne) refusal = 'is the second statement of a write: it needs a transaction';
          return runner.all(statement, params);
        };
        let result: R;
        try {
          result = await work(bind({ all }));
        } finally {
          refusal = 'came after the end of its work';
        }
        if (remember !== undefined && result !== undefined) await bind(runner).idempotency.insert(remember(result));
        return result;
      };
    return {
      transaction: (work) => engine.transaction(remembering(work), { ...options, contended }),
      write: (work) =>
        engine.write(remembering(work, true), { ...options, statements: remember === undefined ? 1 : 2 }),
    };
  };

  return {
    ...(mapTables(tables, ({ reads }) => reads) as Reads<T>),
    ...writerFor({}),
    forCall: writerFor,
    onWrite(listener) {
      onWrite = listener;
    },
    async close() {
      isClosed = true;
      if (calls > 0) await drained.promise;
      await opened.close();
    },
  };
}

function mapTables<T extends object>(tables: T, map: (table: T[keyof T]) => unknown): unknown {
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, map(table)]));
}
