/**
 * Adds trace spans to a store: for each call of a table's method, and each transaction until it is durable.
 */
import type { Reads, Store, Tables, Transaction, Writer } from '../../storage/store.ts';
import type { Attributes, Tracing } from './otel.ts';

type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

export function traceStore<T extends Tables>(
  store: Store<T>,
  makers: T,
  { inSpan, isRecording, bind }: Tracing,
  system: string,
): Store<T> {
  const base: Attributes = { 'db.system.name': system };

  /** Runs each method of each table in a span. */
  const traceTables = <In extends Reads<T> | Transaction<T>>(tables: In): In => {
    const traced = Object.keys(makers).map((table) => {
      const methods = Object.entries(tables[table] as Methods).map(([name, method]) => {
        const attributes = { ...base, 'db.collection.name': table, 'db.operation.name': name };
        return [name, (...args: never[]) => inSpan(`${table}.${name}`, attributes, () => method(...args))];
      });
      return [table, Object.fromEntries(methods)];
    });
    return Object.fromEntries(traced) as In; // every method has kept its type
  };

  /** Writes share a commit, and run in the context in which the first one began: so each is bound to its own. */
  const traced = <R>(work: (tx: Transaction<T>) => Promise<R>) => bind((tx: Transaction<T>) => work(traceTables(tx)));
  const traceWriter = ({ transaction, write }: Writer<T>): Writer<T> => ({
    transaction: (work, contended) =>
      isRecording()
        ? inSpan('transaction', base, () => transaction(traced(work), contended))
        : transaction(work, contended),
    write: (work) => write(isRecording() ? traced(work) : work),
  });

  return {
    ...store,
    ...traceTables(store),
    ...traceWriter(store),
    forCall: (call) => traceWriter(store.forCall(call)),
  };
}
