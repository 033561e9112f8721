/** The `orders` table. */
import type { Instant, Order, Page, PageRequest } from '../model.ts';
import { type Engine, onlyRow, type Row, type Runner } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, compiledByVariant, param } from './statement.ts';

export interface OrderFilter {
  readonly petId?: bigint | undefined;
  readonly complete?: boolean | undefined;
}

/** Reads orders on the newest committed state. */
export interface OrderReader {
  find(id: bigint): Promise<Order | undefined>;
  page(filter: OrderFilter, page: PageRequest): Promise<Page<Order>>;
}

/** Reads and changes orders within a transaction. */
export interface OrderWriter {
  insert(order: Omit<Order, 'id'>): Promise<Order>;
  /** Finds an order and keeps others from changing it until the transaction ends. */
  lock(id: bigint): Promise<Order | undefined>;
  /** Stores all of the order's fields but its pet. */
  update(order: Order): Promise<void>;
  delete(id: bigint): Promise<void>;
  /** Whether an order that is not complete names the pet, `except` left aside. */
  hasOpen(petId: bigint, except?: bigint): Promise<boolean>;
  /** How many units the pet's orders have that are not complete: what comes back when all of them are cancelled. */
  openUnits(petId: bigint): Promise<number>;
}

const COLUMNS = ['id', 'pet_id', 'quantity', 'ship_seconds', 'ship_nanos', 'complete'] as const;

function toOrder(row: Row): Order {
  const petId = row.pet_id as number | null;
  return {
    id: BigInt(row.id as number),
    petId: petId === null ? undefined : BigInt(petId),
    quantity: row.quantity as number,
    shipDate: toInstant(row.ship_seconds as number | null, row.ship_nanos as number | null),
    complete: Boolean(row.complete),
  };
}

function toInstant(seconds: number | null, nanos: number | null): Instant | undefined {
  return seconds === null || nanos === null ? undefined : { seconds: BigInt(seconds), nanos };
}

export function orderStatements(engine: Engine) {
  const { knex } = engine;
  const byId = () => knex('orders').where('id', param('id'));
  const changeable = {
    quantity: param('quantity'),
    ship_seconds: param('shipSeconds'),
    ship_nanos: param('shipNanos'),
    complete: param('complete'),
  };
  return {
    byIds: compile('orders.by_ids', engine.whereIdIn(knex('orders').select(COLUMNS).orderBy('id'), 'id')),
    page: compiledByVariant('orders.page', (filters) => {
      const query = knex('orders').select(COLUMNS);
      if (filters.has('petId')) query.where('pet_id', param('petId'));
      if (filters.has('complete')) query.where('complete', param('complete'));
      return keysetPage(query);
    }),
    lock: compile('orders.lock', engine.forUpdate(byId().select(COLUMNS))),
    insert: compile(
      'orders.insert',
      knex('orders')
        .insert({ pet_id: param('petId'), ...changeable })
        .returning('id'),
    ),
    update: compile('orders.update', byId().update(changeable)),
    delete: compile('orders.delete', byId().delete()),
    open: compile(
      'orders.open',
      knex('orders')
        .select('id')
        .where({ pet_id: param('petId'), complete: param('complete') })
        .whereNot('id', param('except'))
        .limit(1),
    ),
    openUnits: compile(
      'orders.open_units',
      knex('orders')
        .sum({ units: 'quantity' })
        .where({ pet_id: param('petId'), complete: param('complete') }),
    ),
  };
}

type OrderStatements = ReturnType<typeof orderStatements>;

export function orderReader(statements: OrderStatements, { reader, toIdList }: Engine): OrderReader {
  const lookup = new BatchedLookup(async (ids) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toOrder),
  );
  const readPage = pageReader(reader, toOrder);
  return {
    find: (id) => lookup.find(id),
    page: (filter, page) => readPage(statements.page(filtersInUse(filter)), filter, page),
  };
}

export function orderWriter(statements: OrderStatements, tx: Runner): OrderWriter {
  const params = (order: Omit<Order, 'id'>) => ({
    petId: order.petId ?? null,
    quantity: order.quantity,
    shipSeconds: order.shipDate?.seconds ?? null,
    shipNanos: order.shipDate?.nanos ?? null,
    complete: order.complete,
  });
  return {
    async insert(order) {
      const row = onlyRow(await tx.all(statements.insert, params(order)));
      return { ...order, id: BigInt(row.id as number) };
    },
    async lock(id) {
      const [row] = await tx.all(statements.lock, { id });
      return row && toOrder(row);
    },
    async update(order) {
      await tx.all(statements.update, { id: order.id, ...params(order) });
    },
    async delete(id) {
      await tx.all(statements.delete, { id });
    },
    async hasOpen(petId, except = 0n) {
      return (await tx.all(statements.open, { petId, complete: false, except })).length > 0;
    },
    async openUnits(petId) {
      return Number(onlyRow(await tx.all(statements.openUnits, { petId, complete: false })).units);
    },
  };
}
