/**
 * Adds trace spans to a store: for each call of a table's method, each transaction, and the commit within it. On SQLite
 * several transactions share a commit.
 */
import type { SingleStatement } from '../storage/single-statement.ts';
import type { Store, Transaction, Writes } from '../storage/store.ts';
import type { Attributes, Tracing } from './tracing.ts';

type Method<T> = (...args: never[]) => T;
type Methods<T> = Readonly<Record<string, Method<T>>>;

export function traceStore(store: Store, { inSpan, isRecording, bind }: Tracing, system: string): Store {
  const base: Attributes = { 'db.system.name': system };

  /** Replaces each method of a table. `replace` gets the method and a function that runs work in the method's span. */
  const wrapTable = <T extends object, R>(
    table: string,
    methods: T,
    replace: (method: Method<R>, traced: <U>(work: () => Promise<U>) => Promise<U>) => Method<R>,
  ): T => {
    const wrapped = Object.entries(methods as Methods<R>).map(([name, method]) => {
      const attributes = { ...base, 'db.collection.name': table, 'db.operation.name': name };
      return [name, replace(method, (work) => inSpan(`${table}.${name}`, attributes, work))];
    });
    return Object.fromEntries(wrapped) as T; // every method has kept its type
  };

  const traceTable = <T extends object>(table: string, methods: T): T =>
    wrapTable<T, Promise<unknown>>(
      table,
      methods,
      (method, traced) =>
        (...args) =>
          traced(() => method(...args)),
    );

  const traceWrites = <T extends object>(table: string, methods: T): T =>
    wrapTable<T, SingleStatement<unknown>>(
      table,
      methods,
      (method, traced) =>
        (...args) =>
          method(...args).within(traced),
    );

  const traceTables = <T extends object>(tables: T, trace: (table: string, methods: object) => object): T =>
    Object.fromEntries(Object.entries(tables).map(([table, methods]) => [table, trace(table, methods)])) as T;

  /** Runs a transaction in a span. `begin` gets a function that adds the span of the commit after the work. */
  const traceTransaction = <T>(
    begin: (thenCommit: <U>(work: () => Promise<U>) => Promise<U>) => Promise<T>,
  ): Promise<T> =>
    inSpan('transaction', base, () => {
      const committed = Promise.withResolvers<void>();
      // A group of transactions runs in the context in which the first one began, so each is bound to its own.
      const thenCommit = bind(async <U>(work: () => Promise<U>) => {
        const result = await work();
        void inSpan('commit', { ...base, 'db.operation.name': 'commit' }, () => committed.promise);
        return result;
      });
      const done = begin(thenCommit);
      done.then(
        () => committed.resolve(),
        () => committed.resolve(),
      );
      return done;
    });

  return {
    ...store,
    pets: traceTable('pets', store.pets),
    categories: traceTable('categories', store.categories),
    orders: traceTable('orders', store.orders),
    accounts: traceTable('accounts', store.accounts),
    usage: traceTable('usage', store.usage),
    idempotency: traceTable('idempotency', store.idempotency),
    transaction(work, isCancelled, contended, remember) {
      if (!isRecording()) return store.transaction(work, isCancelled, contended, remember);
      return traceTransaction((thenCommit) =>
        store.transaction(
          (tx: Transaction) => thenCommit(() => work(traceTables(tx, traceTable))),
          isCancelled,
          contended,
          remember,
        ),
      );
    },
    write(choose, isCancelled, remember) {
      if (!isRecording()) return store.write(choose, isCancelled, remember);
      const chooseTraced = (writes: Writes) => choose(traceTables(writes, traceWrites));
      if (remember === undefined) return store.write(chooseTraced, isCancelled);
      return traceTransaction((thenCommit) =>
        store.write((writes) => chooseTraced(writes).within(thenCommit), isCancelled, remember),
      );
    },
  };
}
