/** The `orders` table. */
import { type Order, type OrderId, type Page, type PageRequest, type PetId, toOrderId, toPetId } from '../model.ts';
import type { Engine } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { bigInteger, boolean, integer, nullable, onlyRow, type Row } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, compiledByVariant, param } from './statement.ts';

export interface OrderFilter {
  readonly petId?: PetId | undefined;
  readonly complete?: boolean | undefined;
}

/** Reads orders on the newest committed state. */
export interface OrderReader {
  find(id: OrderId): Promise<Order | undefined>;
  page(filter: OrderFilter, page: PageRequest): Promise<Page<Order>>;
}

/** Statements that lock, count and change orders in a transaction. */
export interface OrderWrites {
  insert(order: Omit<Order, 'id'>): SingleStatement<Order>;
  /** Finds an order and locks it until the transaction ends. */
  lock(id: OrderId): SingleStatement<Order | undefined>;
  /** Stores all of the order's fields except its pet. */
  update(order: Order): SingleStatement<void>;
  delete(id: OrderId): SingleStatement<void>;
  /** Whether the pet has an open order other than `except`. */
  hasOpen(petId: PetId, except?: OrderId): SingleStatement<boolean>;
  /** The units in the pet's open orders, which return to stock when all of them are cancelled. */
  openUnits(petId: PetId): SingleStatement<number>;
}

const COLUMNS = ['id', 'pet_id', 'quantity', 'ship_seconds', 'ship_nanos', 'complete'] as const;

function toOrder(row: Row): Order {
  const petId = nullable(bigInteger, row.pet_id);
  const seconds = nullable(bigInteger, row.ship_seconds);
  const nanos = nullable(integer, row.ship_nanos);
  return {
    id: toOrderId(bigInteger(row.id)),
    petId: petId === undefined ? undefined : toPetId(petId),
    quantity: integer(row.quantity),
    shipDate: seconds === undefined || nanos === undefined ? undefined : { seconds, nanos },
    complete: boolean(row.complete),
  };
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

export function orderWrites(statements: OrderStatements): OrderWrites {
  const params = (order: Omit<Order, 'id'>) => ({
    petId: order.petId ?? null,
    quantity: order.quantity,
    shipSeconds: order.shipDate?.seconds ?? null,
    shipNanos: order.shipDate?.nanos ?? null,
    complete: order.complete,
  });
  return {
    insert: (order) =>
      SingleStatement.of(statements.insert, params(order), (rows) => ({
        ...order,
        id: toOrderId(bigInteger(onlyRow(rows).id)),
      })),
    lock: (id) => SingleStatement.of(statements.lock, { id }, ([row]) => row && toOrder(row)),
    update: (order) => SingleStatement.of(statements.update, { id: order.id, ...params(order) }, () => undefined),
    delete: (id) => SingleStatement.of(statements.delete, { id }, () => undefined),
    hasOpen: (petId, except) =>
      SingleStatement.of(statements.open, { petId, complete: false, except: except ?? 0n }, (rows) => rows.length > 0),
    openUnits: (petId) =>
      SingleStatement.of(
        statements.openUnits,
        { petId, complete: false },
        (rows) => nullable(integer, onlyRow(rows).units) ?? 0,
      ),
  };
}
