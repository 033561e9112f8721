/** The `orders` table. */
import { type Order, type OrderId, type PageRequest, type PetId, toOrderId, toPetId } from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { bigInteger, boolean, firstRow, integer, nullable, onlyRow, type Row } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, compiledByVariant, param } from './statement.ts';

export interface OrderFilter {
  readonly petId?: PetId | undefined;
  readonly complete?: boolean | undefined;
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

function toParams({ petId, quantity, shipDate, complete }: Omit<Order, 'id'>) {
  const { seconds = null, nanos = null } = shipDate ?? {};
  return { petId: petId ?? null, quantity, shipSeconds: seconds, shipNanos: nanos, complete };
}

export function orderStatements(engine: Engine) {
  const { knex } = engine;
  const byId = () => knex('orders').where('id', param('id'));
  const open = () => knex('orders').where({ pet_id: param('petId'), complete: param('complete') });
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
    open: compile('orders.open', open().select('id').whereNot('id', param('except')).limit(1)),
    openUnits: compile('orders.open_units', open().sum({ units: 'quantity' })),
  };
}

export function orderTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = orderStatements(engine);
  const lookup = new BatchedLookup(async (ids: readonly OrderId[]) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toOrder),
  );
  const readPage = pageReader(reader, toOrder);
  return {
    reads: {
      find: (id: OrderId) => lookup.find(id),
      page: (filter: OrderFilter, page: PageRequest) => readPage(statements.page(filtersInUse(filter)), filter, page),
    },
    writes: (tx: Runner) => ({
      async insert(order: Omit<Order, 'id'>): Promise<Order> {
        const row = onlyRow(await tx.all(statements.insert, toParams(order)));
        return { ...order, id: toOrderId(bigInteger(row.id)) };
      },
      /** Finds an order and locks it until the transaction ends. */
      lock: async (id: OrderId) => firstRow(await tx.all(statements.lock, { id }), toOrder),
      /** Stores all of the order's fields except its pet. */
      update: async ({ id, ...order }: Order) => void (await tx.all(statements.update, { id, ...toParams(order) })),
      delete: async (id: OrderId) => void (await tx.all(statements.delete, { id })),
      /** Whether the pet has an open order other than `except`. */
      async hasOpen(petId: PetId, except: OrderId = toOrderId(0n)): Promise<boolean> {
        return (await tx.all(statements.open, { petId, complete: false, except })).length > 0;
      },
      /** The units in the pet's open orders, which return to stock when all of them are cancelled. */
      async openUnits(petId: PetId): Promise<number> {
        const row = onlyRow(await tx.all(statements.openUnits, { petId, complete: false }));
        return nullable(integer, row.units) ?? 0;
      },
    }),
  };
}
