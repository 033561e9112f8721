/**
 * A store whose work shows in traces: each method of a table, each transaction, and in it the wait for the commit,
 * which on SQLite is shared with others.
 */
import type { Store, Transaction } from '../storage/store.ts';
import type { Attributes, Tracing } from './tracing.ts';

type Role = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export function traceStore(store: Store, { inSpan, isRecording, bind }: Tracing, system: string): Store {
  const base: Attributes = { 'db.system.name': system };

  const traceRole = <T extends object>(table: string, role: T): T => {
    const methods = Object.entries(role as Role).map(([name, method]) => {
      const attributes = { ...base, 'db.collection.name': table, 'db.operation.name': name };
      const span = `${table}.${name}`;
      return [name, (...args: never[]) => inSpan(span, attributes, () => method(...args))];
    });
    return Object.fromEntries(methods) as T;
  };

  const traceRoles = (tx: Transaction): Transaction =>
    Object.fromEntries(Object.entries(tx).map(([table, role]) => [table, traceRole(table, role)])) as never;

  const transaction: Store['transaction'] = (work, isCancelled, contended, remember) => {
    if (!isRecording()) return store.transaction(work, isCancelled, contended, remember);
    return inSpan('transaction', base, () => {
      const committed = Promise.withResolvers<void>();
      // A group of transactions runs where the first of them was begun.
      const traced = bind(async (tx: Transaction) => {
        const result = await work(traceRoles(tx));
        void inSpan('commit', { ...base, 'db.operation.name': 'commit' }, () => committed.promise);
        return result;
      });
      const done = store.transaction(traced, isCancelled, contended, remember);
      done.then(
        () => committed.resolve(),
        () => committed.resolve(),
      );
      return done;
    });
  };

  return {
    ...store,
    pets: traceRole('pets', store.pets),
    categories: traceRole('categories', store.categories),
    orders: traceRole('orders', store.orders),
    accounts: traceRole('accounts', store.accounts),
    usage: traceRole('usage', store.usage),
    idempotency: traceRole('idempotency', store.idempotency),
    transaction,
    write(work, isCancelled, remember) {
      if (!isRecording()) return store.write(work, isCancelled, remember);
      if (remember !== undefined) return transaction(work, isCancelled, undefined, remember);
      return store.write((tx) => work(traceRoles(tx)), isCancelled);
    },
  };
}
