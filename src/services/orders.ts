/** OrderService: orders, and what they do to stock. Each change of an order and its pet is one transaction. */
import { Order as OrderMessage, type OrderServiceServer } from '../../gen/petstore/v1/orders.ts';
import { apiError, invalidArgument } from '../errors.ts';
import type { Instant, Order, Pet } from '../model.ts';
import { contendedPet } from '../storage/pets.ts';
import type { Store, Transaction } from '../storage/store.ts';
import { checkIfMatch } from './if-match.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import type { Context, Service } from './service.ts';
import { close, giveBack, type Stock, take } from './stock.ts';

export function orderService(store: Store): Service<OrderServiceServer> {
  /** What a change of the order contends for: its pet, which never changes. */
  const contendedOf = (orderId: bigint) => async () => {
    const order = await store.orders.find(orderId);
    return order?.petId === undefined ? `order ${orderId}` : contendedPet(order.petId);
  };

  return {
    async listOrders(request) {
      const filter = { petId: request.petId, complete: request.complete };
      const page = await store.orders.page(filter, toPageRequest('orders', request));
      return { orders: page.rows.map(toMessage), nextPageToken: nextPageToken('orders', page, ({ id }) => id) };
    },

    async placeOrder({ order }, { isCancelled, remember }) {
      const shipDate = checked(order?.shipDate);
      const contended = order?.petId === undefined ? undefined : contendedPet(order.petId);
      return store.transaction(
        async (tx) => {
          const placed = await tx.orders.insert({
            petId: order?.petId,
            quantity: order?.quantity ?? 1,
            shipDate,
            complete: order?.complete ?? false,
          });
          await moveStock(tx, placed, placed.quantity, 'UNKNOWN_PET');
          return toMessage(placed);
        },
        isCancelled,
        contended,
        remember,
      );
    },

    async getOrder({ orderId }) {
      const order = await store.orders.find(orderId);
      if (order === undefined) throw apiError('ORDER_NOT_FOUND', { orderId });
      return toMessage(order);
    },

    async updateOrder({ orderId, order: patch }, context) {
      const shipDate = checked(patch?.shipDate);
      return store.transaction(
        async (tx) => {
          const order = await lockOpen(tx, orderId, context);
          const changed: Order = {
            ...order,
            quantity: patch?.quantity ?? order.quantity,
            shipDate: shipDate ?? order.shipDate,
            complete: patch?.complete ?? false,
          };
          await tx.orders.update(changed);
          await moveStock(tx, changed, changed.quantity - order.quantity, 'PET_NOT_FOUND');
          return toMessage(changed);
        },
        context.isCancelled,
        contendedOf(orderId),
      );
    },

    cancelOrder: ({ orderId }, context) =>
      store.transaction(
        async (tx) => {
          const order = await lockOpen(tx, orderId, context);
          await tx.orders.delete(orderId);
          await moveStock(tx, order, -order.quantity, 'PET_NOT_FOUND');
          return {};
        },
        context.isCancelled,
        contendedOf(orderId),
      ),
  };
}

/**
 * Refuses a ship date that RFC 3339 can't write: stored, it would break every REST answer that it is in. The rules in
 * the proto file hold its seconds; to them a Timestamp is an instant, so they can't see its nanos.
 */
function checked(shipDate: Instant | undefined): Instant | undefined {
  if (shipDate === undefined || (shipDate.nanos >= 0 && shipDate.nanos <= 999_999_999)) return shipDate;
  const description = 'must have 0 to 999,999,999 nanoseconds';
  throw invalidArgument([{ path: 'order.shipDate', name: 'shipDate', description }]);
}

/** The order, if it is as the caller wants it to be and still open, and as it stays until the transaction ends. */
async function lockOpen(tx: Transaction, orderId: bigint, context: Context): Promise<Order> {
  const order = await tx.orders.lock(orderId);
  if (order === undefined) throw apiError('ORDER_NOT_FOUND', { orderId });
  checkIfMatch(context, OrderMessage, toMessage(order));
  if (order.complete) throw apiError('ORDER_COMPLETE', { orderId });
  return order;
}

/**
 * Moves `units` from the pet's stock to the order (back, when negative), and closes the order if it is complete.
 * An order without a pet touches no stock.
 */
async function moveStock(
  tx: Transaction,
  { id, petId, complete }: Order,
  units: number,
  codeOfNoPet: 'UNKNOWN_PET' | 'PET_NOT_FOUND',
): Promise<void> {
  if (petId === undefined) return;
  const pet = await tx.pets.lock(petId);
  if (pet === undefined) throw apiError(codeOfNoPet, { petId });
  const moved = units > 0 ? takeUnits(pet, units) : giveBack(pet, -units);
  const settled = complete ? close(moved, await tx.orders.hasOpen(petId, id)) : moved;
  if (settled.quantity !== pet.quantity || settled.status !== pet.status) {
    await tx.pets.update({ ...pet, quantity: settled.quantity, status: settled.status });
  }
}

function takeUnits(pet: Pet, units: number): Stock {
  const taken = take(pet, units);
  if (taken === undefined) {
    throw apiError('INSUFFICIENT_STOCK', { petId: pet.id, wanted: units, inStock: pet.quantity });
  }
  return taken;
}

function toMessage(order: Order): OrderMessage {
  return order;
}
