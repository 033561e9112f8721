/** All tables as one store: readers on the newest committed state, writers within a transaction. */
import type { IsWanted } from '../model.ts';
import { type AccountReader, type AccountWriter, accountReader, accountStatements, accountWriter } from './accounts.ts';
import {
  type CategoryReader,
  type CategoryWriter,
  categoryReader,
  categoryStatements,
  categoryWriter,
} from './categories.ts';
import type { Contended, Engine, Runner } from './engine.ts';
import { OpenWork } from './open-work.ts';
import { type OrderReader, type OrderWriter, orderReader, orderStatements, orderWriter } from './orders.ts';
import { type PetReader, type PetWriter, petReader, petStatements, petWriter } from './pets.ts';
import { type UsageReader, type UsageWriter, usageReader, usageStatements, usageWriter } from './usage.ts';

export interface Transaction {
  readonly pets: PetWriter;
  readonly categories: CategoryWriter;
  readonly orders: OrderWriter;
  readonly accounts: AccountWriter;
  readonly usage: UsageWriter;
}

/** Reads and changes all tables. After `close` everything is refused with StoreClosed. */
export interface Store {
  readonly pets: PetReader;
  readonly categories: CategoryReader;
  readonly orders: OrderReader;
  readonly accounts: AccountReader;
  readonly usage: UsageReader;
  /**
   * Runs `work` as one transaction and resolves once it is durable. Whatever `work` throws undoes it, and only it.
   *
   * Work that names what it contends for, such as the pet whose row it locks, waits for others of that name alone.
   *
   * @throws WorkAbandoned when nobody waits for the work any more as its turn comes.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, isWanted?: IsWanted, contended?: Contended): Promise<T>;
  /** A transaction of work that calls one method of a writer, once: less effort, the same promises. */
  write<T>(work: (tx: Transaction) => Promise<T>, isWanted?: IsWanted): Promise<T>;
  /** Runs `work` while no other process that shares the database is in here. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Finishes what is under way, takes nothing new, closes the database. */
  close(): Promise<void>;
}

const ALWAYS: IsWanted = () => true;

export function createStore(opened: Engine): Store {
  const open = new OpenWork();
  const engine: Engine = {
    ...opened,
    reader: { all: (statement, params) => open.run(() => opened.reader.all(statement, params)) },
    transaction: (...args) => open.run(() => opened.transaction(...args)),
    write: (...args) => open.run(() => opened.write(...args)),
    alone: (work) => open.run(() => opened.alone(work)),
  };
  const pets = petStatements(engine);
  const categories = categoryStatements(engine);
  const orders = orderStatements(engine);
  const accounts = accountStatements(engine);
  const usage = usageStatements(engine);
  const writers = (tx: Runner): Transaction => ({
    pets: petWriter(pets, tx),
    categories: categoryWriter(categories, tx),
    orders: orderWriter(orders, tx),
    accounts: accountWriter(accounts, tx),
    usage: usageWriter(usage, tx),
  });
  return {
    pets: petReader(pets, engine),
    categories: categoryReader(categories, engine),
    orders: orderReader(orders, engine),
    accounts: accountReader(accounts, engine.reader),
    usage: usageReader(usage, engine.reader),
    transaction: (work, isWanted = ALWAYS, contended) =>
      engine.transaction((tx) => work(writers(tx)), isWanted, contended),
    async write(work, isWanted = ALWAYS) {
      let isDone = false;
      const once: Runner = {
        async all(statement, params) {
          if (isDone) throw new Error(`${statement.name} comes after another statement: that takes a transaction`);
          isDone = true;
          return engine.write(statement, params, isWanted);
        },
      };
      return work(writers(once));
    },
    alone: (work) => engine.alone(work),
    async close() {
      await open.close();
      await opened.close();
    },
  };
}
