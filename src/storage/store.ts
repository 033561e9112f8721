/** All tables as one store: readers on the newest committed state, writers within a transaction. */
import type { IsCancelled, Remember } from '../model.ts';
import { type AccountReader, type AccountWriter, accountReader, accountStatements, accountWriter } from './accounts.ts';
import { type BanReader, type BanWriter, banReader, banStatements, banWriter } from './bans.ts';
import {
  type CategoryReader,
  type CategoryWriter,
  categoryReader,
  categoryStatements,
  categoryWriter,
} from './categories.ts';
import type { Contended, Engine, Runner } from './engine.ts';
import {
  type IdempotencyReader,
  type IdempotencyWriter,
  idempotencyReader,
  idempotencyStatements,
  idempotencyWriter,
} from './idempotency.ts';
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
  readonly bans: BanWriter;
  readonly idempotency: IdempotencyWriter;
}

/** Reads and changes all tables. After `close` everything is refused with StoreClosed. */
export interface Store {
  readonly pets: PetReader;
  readonly categories: CategoryReader;
  readonly orders: OrderReader;
  readonly accounts: AccountReader;
  readonly usage: UsageReader;
  readonly bans: BanReader;
  readonly idempotency: IdempotencyReader;
  /**
   * Runs `work` as one transaction and resolves once it is durable. Whatever `work` throws undoes it, and only it.
   * With `remember`, the record of its result is part of the transaction.
   *
   * Work that names what it contends for, such as the pet whose row it locks, waits for others of that name alone.
   *
   * @throws Cancelled when the call was cancelled before the work began.
   * @throws AlreadyDone when there is such a record already.
   */
  transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    isCancelled?: IsCancelled,
    contended?: Contended,
    remember?: Remember,
  ): Promise<T>;
  /** A transaction of work that calls one method of a writer, once: less effort, the same promises. */
  write<T>(work: (tx: Transaction) => Promise<T>, isCancelled?: IsCancelled, remember?: Remember): Promise<T>;
  /** Runs `work` while no other process that shares the database is in here. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Finishes what is under way, takes nothing new, closes the database. */
  close(): Promise<void>;
}

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
  const bans = banStatements(engine);
  const idempotency = idempotencyStatements(engine);
  const writers = (tx: Runner): Transaction => ({
    pets: petWriter(pets, tx),
    categories: categoryWriter(categories, tx),
    orders: orderWriter(orders, tx),
    accounts: accountWriter(accounts, tx),
    usage: usageWriter(usage, tx),
    bans: banWriter(bans, tx),
    idempotency: idempotencyWriter(idempotency, tx),
  });
  const transaction: Store['transaction'] = (work, isCancelled, contended, remember) =>
    engine.transaction(
      async (runner) => {
        const tx = writers(runner);
        const result = await work(tx);
        if (remember !== undefined) await tx.idempotency.insert(remember(result));
        return result;
      },
      isCancelled,
      contended,
    );
  return {
    pets: petReader(pets, engine),
    categories: categoryReader(categories, engine),
    orders: orderReader(orders, engine),
    accounts: accountReader(accounts, engine.reader),
    usage: usageReader(usage, engine),
    bans: banReader(bans, engine),
    idempotency: idempotencyReader(idempotency, engine),
    transaction,
    async write(work, isCancelled, remember) {
      if (remember !== undefined) return transaction(work, isCancelled, undefined, remember);
      let isDone = false;
      const once: Runner = {
        async all(statement, params) {
          if (isDone) throw new Error(`${statement.name} comes after another statement: that takes a transaction`);
          isDone = true;
          return engine.write(statement, params, isCancelled);
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
