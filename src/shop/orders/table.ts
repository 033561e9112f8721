/** The `orders` table. */
import type { Engine, Runner } from '../../platform/storage/engine.ts';
import { compile, param } from '../../platform/storage/statement.ts';
import { boolean, type Instant, id, instant, integer, optional, table } from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { whereInIndex } from '../../platform/tables/pages.ts';
import { onlyRow, resource } from '../../platform/tables/table.ts';
import type { PetId } from '../pets/table.ts';

export type OrderId = Id<'order'>;
export const toOrderId = (id: bigint) => id as OrderId;

export interface Order {
  readonly id: OrderId;
  readonly petId: PetId | undefined;
  readonly quantity: number;
  readonly shipDate: Instant | undefined;
  readonly complete: boolean;
}

export const ORDERS = table<Order>('orders', {
  id: id<OrderId>('id'),
  petId: optional(id<PetId>('pet_id')),
  quantity: integer('quantity'),
  shipDate: optional(instant('ship')),
  complete: boolean('complete'),
});

export function orderTable(engine: Engine) {
  const orders = resource(engine, ORDERS, { constant: ['pet_id'] });
  const { knex } = engine;
  const ofPet = { pet_id: param('petId'), complete: param('complete') };
  const units = knex.raw('coalesce(sum(quantity), 0) as quantity');
  const statements = {
    open: compile('orders.open', whereInIndex(engine, knex('orders').select('id').limit(1), ofPet)),
    openUnits: compile('orders.open_units', knex('orders').select(units).where(ofPet)),
  };
  return {
    reads: orders.reads,
    writes: (tx: Runner) => ({
      ...orders.writes(tx),
      async hasOpen(petId: PetId): Promise<boolean> {
        return (await tx.all(statements.open, { petId, complete: false })).length > 0;
      },
      /** The units in the pet's open orders, which return to stock when all of them are cancelled. */
      async openUnits(petId: PetId): Promise<number> {
        return ORDERS.fields.quantity.read(onlyRow(await tx.all(statements.openUnits, { petId, complete: false })));
      },
    }),
  };
}
