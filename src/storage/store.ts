/** All tables as one store: readers of the latest committed state, and transactions that change it. */
import type { IsCancelled, Remember } from '../model.ts';
import { type AccountReader, type AccountWrites, accountReader, accountStatements, accountWrites } from './accounts.ts';
import { type BanReader, type BanWrites, banReader, banStatements, banWrites } from './bans.ts';
import {
  type CategoryReader,
  type CategoryWrites,
  categoryReader,
  categoryStatements,
  categoryWrites,
} from './categories.ts';
import type { Contended, Engine, Runner } from './engine.ts';
import {
  type IdempotencyReader,
  type IdempotencyWrites,
  idempotencyReader,
  idempotencyStatements,
  idempotencyWrites,
} from './idempotency.ts';
import { OpenCalls } from './open-calls.ts';
import { type OrderReader, type OrderWrites, orderReader, orderStatements, orderWrites } from './orders.ts';
import { type PetReader, type PetWrites, petReader, petStatements, petWrites } from './pets.ts';
import { bindable, type InTransaction, type SingleStatement } from './single-statement.ts';
import { type UsageReader, type UsageWrites, usageReader, usageStatements, usageWrites } from './usage.ts';

/** The statements that change each table. */
export interface Writes {
  readonly pets: PetWrites;
  readonly categories: CategoryWrites;
  readonly orders: OrderWrites;
  readonly accounts: AccountWrites;
  readonly usage: UsageWrites;
  readonly bans: BanWrites;
  readonly idempotency: IdempotencyWrites;
}

/** The same statements, as methods that run them in one transaction. */
export type Transaction = { readonly [Table in keyof Writes]: InTransaction<Writes[Table]> };

/** Reads and changes all tables. Every method throws StoreClosed after `close`. */
export interface Store {
  readonly pets: PetReader;
  readonly categories: CategoryReader;
  readonly orders: OrderReader;
  readonly accounts: AccountReader;
  readonly usage: UsageReader;
  readonly bans: BanReader;
  readonly idempotency: IdempotencyReader;
  /**
   * Runs `work` as one transaction and resolves once it is durable. If `work` throws, only its own changes are rolled
   * back. With `remember`, the record of the result is stored in the same transaction. Transactions with the same
   * `contended` name, such as the pet that they lock, run one at a time.
   *
   * @throws Cancelled when `isCancelled` returns true before `work` begins.
   * @throws AlreadyDone when the record of `remember` exists.
   */
  transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    isCancelled?: IsCancelled,
    contended?: Contended,
    remember?: Remember,
  ): Promise<T>;
  /** Runs one statement as a transaction. It costs less than `transaction` and makes the same promises. */
  write<T>(choose: (writes: Writes) => SingleStatement<T>, isCancelled?: IsCancelled, remember?: Remember): Promise<T>;
  /** Runs `work` while no other process that shares the database runs `withAdvisoryLock`. */
  withAdvisoryLock<T>(work: () => Promise<T>): Promise<T>;
  /** Refuses new calls, waits for those in progress, closes the database. */
  close(): Promise<void>;
}

export function createStore(opened: Engine): Store {
  const calls = new OpenCalls();
  const engine: Engine = {
    ...opened,
    reader: { all: (statement, params) => calls.run(() => opened.reader.all(statement, params)) },
    transaction: (...args) => calls.run(() => opened.transaction(...args)),
    write: (...args) => calls.run(() => opened.write(...args)),
    withAdvisoryLock: (work) => calls.run(() => opened.withAdvisoryLock(work)),
  };
  const pets = petStatements(engine);
  const categories = categoryStatements(engine);
  const orders = orderStatements(engine);
  const accounts = accountStatements(engine);
  const usage = usageStatements(engine);
  const bans = banStatements(engine);
  const idempotency = idempotencyStatements(engine);
  const writes: Writes = {
    pets: petWrites(pets),
    categories: categoryWrites(categories),
    orders: orderWrites(orders),
    accounts: accountWrites(accounts),
    usage: usageWrites(usage),
    bans: banWrites(bans),
    idempotency: idempotencyWrites(idempotency),
  };
  const inTransaction = bindAll(writes);

  const transaction: Store['transaction'] = (work, isCancelled, contended, remember) =>
    engine.transaction(
      async (runner) => {
        const tx = inTransaction(runner);
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
    async write(choose, isCancelled, remember) {
      const chosen = choose(writes);
      if (remember === undefined) {
        return chosen.run({ all: (statement, params) => engine.write(statement, params, isCancelled) });
      }
      return engine.transaction(async (runner) => {
        const result = await chosen.run(runner);
        await writes.idempotency.insert(remember(result)).run(runner);
        return result;
      }, isCancelled);
    },
    withAdvisoryLock: (work) => engine.withAdvisoryLock(work),
    async close() {
      await calls.close();
      await opened.close();
    },
  };
}

function bindAll(writes: Writes): (tx: Runner) => Transaction {
  const pets = bindable(writes.pets);
  const categories = bindable(writes.categories);
  const orders = bindable(writes.orders);
  const accounts = bindable(writes.accounts);
  const usage = bindable(writes.usage);
  const bans = bindable(writes.bans);
  const idempotency = bindable(writes.idempotency);
  return (tx) => ({
    pets: pets(tx),
    categories: categories(tx),
    orders: orders(tx),
    accounts: accounts(tx),
    usage: usage(tx),
    bans: bans(tx),
    idempotency: idempotency(tx),
  });
}
