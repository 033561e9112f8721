/** OrderService: orders and their effect on stock. An order and its pet change in one transaction. */
import { Order as OrderMessage, type OrderServiceServer } from '../../../gen/petstore/v1/orders.ts';
import { existing } from '../../platform/errors.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Context, Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { shopError } from '../errors.ts';
import { close, returnUnits, takeUnits } from '../inventory/stock.ts';
import { contendedPet, type PetId, toPetId } from '../pets/table.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { type Order, toOrderId } from './table.ts';

const PAGES = pageTokens(3);

export function orderService(store: ShopStore): Service<OrderServiceServer> {
  /** Changes an open order, which must exist and match If-Match, in the queue of its pet, which never changes. */
  const change = async <T>(id: bigint, call: Context, work: (tx: ShopTransaction, order: Order) => Promise<T>) => {
    const orderId = toOrderId(id);
    const petId = (await store.orders.find(orderId))?.petId;
    const contended = petId === undefined ? `order ${orderId}` : contendedPet(petId);
    return store.forCall(call, contended).transaction(async (tx) => {
      const order = existing(await tx.orders.lock(orderId), () => shopError('ORDER_NOT_FOUND', { orderId }));
      checkIfMatch(call, OrderMessage, order);
      if (order.complete) throw shopError('ORDER_COMPLETE', { orderId });
      return work(tx, order);
    });
  };

  return {
    async listOrders(request) {
      const filter = { petId: petIdOf(request), complete: request.complete };
      const page = await store.orders.page(PAGES.toPageRequest(request), filter);
      return { orders: [...page.rows], nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    async placeOrder({ order }, call) {
      const petId = petIdOf(order);
      const { quantity = 1, shipDate, complete = false } = order ?? {};
      const contended = petId === undefined ? undefined : contendedPet(petId);
      return store.forCall(call, contended).transaction(async (tx) => {
        const placed = await tx.orders.insert({ petId, quantity, shipDate, complete });
        await moveStock(tx, placed, placed.quantity);
        return placed;
      });
    },

    getOrder: async ({ orderId }) =>
      existing(await store.orders.find(toOrderId(orderId)), () => shopError('ORDER_NOT_FOUND', { orderId })),

    async updateOrder({ orderId, order: patch }, call) {
      return change(orderId, call, async (tx, order) => {
        const changed: Order = {
          ...order,
          quantity: patch?.quantity ?? order.quantity,
          shipDate: patch?.shipDate ?? order.shipDate,
          complete: patch?.complete ?? order.complete,
        };
        await tx.orders.update(changed);
        await moveStock(tx, changed, changed.quantity - order.quantity);
        return changed;
      });
    },

    cancelOrder: ({ orderId }, call) =>
      change(orderId, call, async (tx, order) => {
        await tx.orders.delete(order.id);
        await moveStock(tx, order, -order.quantity);
        return {};
      }),
  };
}

function petIdOf(message: { readonly petId?: bigint | undefined } | undefined): PetId | undefined {
  return message?.petId === undefined ? undefined : toPetId(message.petId);
}

/**
 * Moves `units` from the pet's stock to the order, or back when negative, and applies `close` if the order is complete,
 * and stored so. Only the pet of a new order may be unknown: one with an open order can't be deleted.
 */
async function moveStock(tx: ShopTransaction, { petId, quantity, complete }: Order, units: number): Promise<void> {
  if (petId === undefined) return;
  const pet = existing(await tx.pets.lock(petId), () => shopError('UNKNOWN_PET', { petId }));
  const stock = { petId, quantity, held: quantity - units, inStock: pet.quantity };
  const missing = () => shopError('INSUFFICIENT_STOCK', stock);
  const moved = units > 0 ? existing(takeUnits(pet, units), missing) : returnUnits(pet, -units);
  const after = complete ? close(moved, await tx.orders.hasOpen(petId)) : moved;
  await tx.pets.update({ ...pet, quantity: after.quantity, status: after.status });
}
