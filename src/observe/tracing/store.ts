/**
 * Adds trace spans to a store: for each call of a table's method, each transaction, and the commit within it. On SQLite
 * several transactions share a commit.
 */
import type { Reads, Store, Tables, Transaction, Writer } from '../../storage/store.ts';
import type { Attributes, Tracing } from './otel.ts';

type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export function traceStore<T extends Tables>(
  store: Store<T>,
  tableNames: readonly (keyof T & string)[],
  { inSpan, isRecording, bind }: Tracing,
  system: string,
): Store<T> {
  const base: Attributes = { 'db.system.name': system };

  /** Runs each method of each table in a span. */
  const traceTables = <In extends Reads<T> | Transaction<T>>(tables: In): In => {
    const traced = tableNames.map((table) => {
      const methods = Object.entries(tables[table] as Methods).map(([name, method]) => {
        const attributes = { ...base, 'db.collection.name': table, 'db.operation.name': name };
        return [name, (...args: never[]) => inSpan(`${table}.${name}`, attributes, () => method(...args))];
      });
      return [table, Object.fromEntries(methods)];
    });
    return Object.fromEntries(traced) as In; // every method has kept its type
  };

  /** Writes share a commit, and run in the context in which the first one began: so each is bound to its own. */
  const traceWriter = ({ transaction, write }: Writer<T>): Writer<T> => ({
    transaction(work, contended) {
      if (!isRecording()) return transaction(work, contended);
      return inSpan('transaction', base, () => {
        const committed = Promise.withResolvers<void>();
        const traced = bind(async (tx: Transaction<T>) => {
          const result = await work(traceTables(tx));
          void inSpan('commit', { ...base, 'db.operation.name': 'commit' }, () => committed.promise);
          return result;
        });
        const done = transaction(traced, contended);
        const settle = () => committed.resolve();
        done.then(settle, settle);
        return done;
      });
    },
    write: (work) => write(isRecording() ? bind((tx: Transaction<T>) => work(traceTables(tx))) : work),
  });

  return {
    ...store,
    ...traceTables(store),
    ...traceWriter(store),
    forCall: (call) => traceWriter(store.forCall(call)),
  };
}
