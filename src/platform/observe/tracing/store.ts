/** Adds trace spans to storage: for each call of a table's method, and each transaction until it is durable. */
import type { Engine, Runner } from '../../storage/engine.ts';
import type { Tables } from '../../tables/store.ts';
import type { Tracing } from './otel.ts';

type Methods = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** Returns the engine and the tables for `createStore`, with spans. */
export function traceStorage<T extends Tables>(engine: Engine, makers: T, { inSpan, bind }: Tracing, system: string) {
  const base = { 'db.system.name': system };

  const traceMethods = (table: string, methods: object): object => {
    const traced = Object.entries(methods as Methods).map(([name, method]) => {
      if (name === 'of') return [name, (...args: never[]) => traceMethods(table, method(...args))]; // owned.ts
      const attributes = { ...base, 'db.collection.name': table, 'db.operation.name': name };
      return [name, (...args: never[]) => inSpan(`${table}.${name}`, attributes, () => method(...args))];
    });
    return Object.fromEntries(traced);
  };
  const traced = Object.entries(makers).map(([name, make]) => {
    const makeTraced: typeof make = (of) => {
      const { reads, writes } = make(of);
      return { reads: traceMethods(name, reads), writes: (tx: Runner) => traceMethods(name, writes(tx)) };
    };
    return [name, makeTraced];
  });
  return {
    tables: Object.fromEntries(traced) as T, // every method has kept its type
    engine: {
      ...engine,
      // Writes share a commit, and run in the context in which the first one began: so each is bound to its own.
      transaction: (work, ...rest) => inSpan('transaction', base, () => engine.transaction(bind(work), ...rest)),
      write: (work, ...rest) => engine.write(bind(work), ...rest),
    } satisfies Engine,
  };
}
