/**
 * The sequential model of a pet with its inventory entry and its orders. The rules are those of docs/guarantees.md,
 * Stock, written independently of the service.
 */
import type { PetStatus } from '../../src/shop/pets/table.ts';

/** In stock and in open orders together. */
const MAX_UNITS = 1_000_000_000;

interface Order {
  readonly tag: number;
  readonly quantity: number;
  readonly complete: boolean;
}

export type Request =
  | ({ readonly do: 'placeOrder' } & Order)
  | ({ readonly do: 'updateOrder' } & Pick<Order, 'tag'> & Partial<Order>)
  | ({ readonly do: 'cancelOrder' } & Pick<Order, 'tag'>)
  | { readonly do: 'setInventory'; readonly quantity: number }
  | { readonly do: 'updatePet'; readonly status: PetStatus };

export interface PetState {
  readonly status: PetStatus;
  readonly quantity: number;
  readonly orders: readonly Order[];
}

export const NEW_PET: PetState = { status: 'available', quantity: 0, orders: [] };

export function step(state: PetState, request: Request): PetState | string {
  switch (request.do) {
    case 'placeOrder':
      return place(state, request);
    case 'setInventory':
      return onInventory(state, request.quantity);
    case 'updatePet':
      return { ...state, status: request.status };
    default:
      return onOrder(state, request);
  }
}

function onInventory(state: PetState, quantity: number): PetState | string {
  const open = state.orders.reduce((sum, order) => sum + (order.complete ? 0 : order.quantity), 0);
  return quantity > state.quantity && quantity + open > MAX_UNITS ? 'INVALID_ARGUMENT' : restock(state, quantity);
}

function place(state: PetState, { tag, quantity, complete }: Order): PetState | string {
  const taken = take(state, quantity);
  if (taken === undefined) return 'INSUFFICIENT_STOCK';
  const placed = { ...taken, orders: [...state.orders, { tag, quantity, complete }] };
  return complete ? closed(placed) : placed;
}

function onOrder(state: PetState, request: Request & { do: 'cancelOrder' | 'updateOrder' }): PetState | string {
  const order = state.orders.find(({ tag }) => tag === request.tag);
  if (order === undefined) return 'ORDER_NOT_FOUND';
  if (order.complete) return 'ORDER_COMPLETE';
  if (request.do === 'cancelOrder') {
    const orders = state.orders.filter((one) => one !== order);
    return { ...restock(state, state.quantity + order.quantity), orders };
  }
  const { quantity = order.quantity, complete = false } = request;
  const moved = take(state, quantity - order.quantity);
  if (moved === undefined) return 'INSUFFICIENT_STOCK';
  const changed = { ...order, quantity, complete };
  const updated = { ...moved, orders: state.orders.map((one) => (one === order ? changed : one)) };
  return complete ? closed(updated) : updated;
}

/** Takes units from the stock, or returns them if negative. Undefined when there are not enough. */
function take(state: PetState, units: number): PetState | undefined {
  if (units > state.quantity) return undefined;
  const quantity = state.quantity - units;
  if (units < 0) return restock(state, quantity);
  const isLast = units > 0 && quantity === 0 && state.status === 'available';
  return { ...state, quantity, status: isLast ? 'pending' : state.status };
}

function restock(state: PetState, quantity: number): PetState {
  return { ...state, quantity, status: quantity > 0 ? 'available' : state.status };
}

/** After an order was completed: a pending pet without open orders and stock becomes sold. */
function closed(state: PetState): PetState {
  const isGone = state.quantity === 0 && state.orders.every(({ complete }) => complete);
  return isGone && state.status === 'pending' ? { ...state, status: 'sold' } : state;
}
