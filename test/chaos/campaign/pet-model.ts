/**
 * The sequential model of a pet with its inventory entry and its orders, which form one object: each operation is one
 * transaction of the service. The rules are those of docs/guarantees.md, Stock, written independently of the service.
 */
import type { Item, Order, Outcome, Pet, PetStatus, Request, Value } from './history.ts';
import type { Model } from './linearize.ts';

/** In stock and in open orders together. */
const MAX_UNITS = 1_000_000_000;

type OrderState = Pick<Order, 'tag' | 'quantity' | 'complete'>;

export interface PetState {
  /** Undefined before the pet is created and after it is deleted. */
  readonly pet: { readonly name: string; readonly categoryId: number } | undefined;
  readonly status: PetStatus;
  readonly quantity: number;
  /** In ascending order of tags. */
  readonly orders: readonly OrderState[];
}

type Step = ReturnType<Model<PetState, Request>['step']>;

export function petModel(petId: number): Model<PetState, Request> {
  return {
    initial: { pet: undefined, status: 'available', quantity: 0, orders: [] },
    step: (state, request) => step(petId, state, request),
    fingerprint: JSON.stringify,
  };
}

function step(petId: number, state: PetState, request: Request): Step {
  switch (request.do) {
    case 'createPet': {
      const created = { ...state, pet: { name: request.name, categoryId: request.categoryId } };
      return { state: created, answer: petAnswer(petId, created) };
    }
    case 'placeOrder':
      return place(state, request);
    case 'getOrder':
    case 'updateOrder':
    case 'cancelOrder':
      return onOrder(state, request);
    case 'listOrders':
      return { state, answer: ordersText(state.orders) };
    case 'getInventory':
    case 'setInventory':
      return state.pet === undefined ? refuse(state, 'INVENTORY_NOT_FOUND') : onInventory(petId, state, request);
    default:
      return state.pet === undefined ? refuse(state, 'PET_NOT_FOUND') : onPet(petId, state, request);
  }
}

function onPet(petId: number, state: PetState, request: Request): Step {
  switch (request.do) {
    case 'getPet':
      return { state, answer: petAnswer(petId, state) };
    case 'replacePet': {
      const { name, categoryId, status = 'available' } = request;
      const replaced = { ...state, pet: { name, categoryId }, status };
      return { state: replaced, answer: petAnswer(petId, replaced) };
    }
    case 'updatePet': {
      const { name = state.pet?.name ?? '', status = state.status } = request;
      const updated = { ...state, pet: { name, categoryId: state.pet?.categoryId ?? 0 }, status };
      return { state: updated, answer: petAnswer(petId, updated) };
    }
    case 'deletePet':
      if (state.orders.some(({ complete }) => !complete)) return refuse(state, 'PET_IN_USE');
      return { state: { ...state, pet: undefined, quantity: 0, status: 'available' }, answer: DONE };
    default:
      throw new Error(`a pet knows nothing of ${request.do}`);
  }
}

function onInventory(petId: number, state: PetState, request: Request): Step {
  if (request.do === 'setInventory' && request.quantity > state.quantity) {
    const open = state.orders.reduce((sum, { quantity, complete }) => sum + (complete ? 0 : quantity), 0);
    if (request.quantity + open > MAX_UNITS) return refuse(state, 'INVALID_ARGUMENT');
  }
  const set = request.do === 'setInventory' ? restock(state, request.quantity) : state;
  return { state: set, answer: itemText({ petId, quantity: set.quantity, status: set.status }) };
}

function place(state: PetState, { tag, quantity, complete }: Request & { do: 'placeOrder' }): Step {
  if (state.pet === undefined) return refuse(state, 'UNKNOWN_PET');
  const taken = take(state, quantity);
  if (taken === undefined) return refuse(state, 'INSUFFICIENT_STOCK');
  const order = { tag, quantity, complete };
  const placed = { ...taken, orders: [...state.orders, order].toSorted((one, other) => one.tag - other.tag) };
  return { state: complete ? closed(placed) : placed, answer: orderText(order) };
}

function onOrder(state: PetState, request: Request & { do: 'getOrder' | 'updateOrder' | 'cancelOrder' }): Step {
  const order = state.orders.find(({ tag }) => tag === request.tag);
  if (order === undefined) return refuse(state, 'ORDER_NOT_FOUND');
  if (request.do === 'getOrder') return { state, answer: orderText(order) };
  if (order.complete) return refuse(state, 'ORDER_COMPLETE');
  if (request.do === 'cancelOrder') {
    const orders = state.orders.filter((one) => one !== order);
    return { state: { ...restock(state, state.quantity + order.quantity), orders }, answer: DONE };
  }
  const { quantity = order.quantity, complete = false } = request;
  const moved = move(state, quantity - order.quantity);
  if (moved === undefined) return refuse(state, 'INSUFFICIENT_STOCK');
  const changed = { ...order, quantity, complete };
  const updated = { ...moved, orders: state.orders.map((one) => (one === order ? changed : one)) };
  return { state: complete ? closed(updated) : updated, answer: orderText(changed) };
}

/** Takes units from the stock, or returns them if negative. Undefined when there are not enough. */
function move(state: PetState, units: number): PetState | undefined {
  if (units > 0) return take(state, units);
  return units === 0 ? state : restock(state, state.quantity - units);
}

function take(state: PetState, units: number): PetState | undefined {
  if (units > state.quantity) return undefined;
  const quantity = state.quantity - units;
  return { ...state, quantity, status: quantity === 0 && state.status === 'available' ? 'pending' : state.status };
}

function restock(state: PetState, quantity: number): PetState {
  return { ...state, quantity, status: quantity > 0 ? 'available' : state.status };
}

/** After an order was completed: a pending pet without open orders and stock becomes sold. */
function closed(state: PetState): PetState {
  const isGone = state.quantity === 0 && state.orders.every(({ complete }) => complete);
  return isGone && state.status === 'pending' ? { ...state, status: 'sold' } : state;
}

function petAnswer(id: number, { pet, status }: PetState): string {
  const { name = '', categoryId = 0 } = pet ?? {};
  return petText({ id, name, categoryId, status });
}

function refuse(state: PetState, code: string): Step {
  return { state, answer: code };
}

/** A response as text, in which the model's and the observed ones are compared and reported. Undefined without one. */
export function answerOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'unknown') return undefined;
  return outcome.kind === 'refused' ? outcome.code : describe(outcome.value);
}

const DONE = 'done';

function describe(value: Value): string {
  if ('pet' in value) return petText(value.pet);
  if ('pets' in value) return `pets [${value.pets.map(petText).join('; ')}]`;
  if ('item' in value) return itemText(value.item);
  if ('order' in value) return orderText(value.order);
  return 'orders' in value ? ordersText(value.orders) : DONE;
}

export function petText({ id, name, categoryId, status }: Pet): string {
  return `pet ${id} "${name}" in category ${categoryId}, ${status}`;
}

export function itemText({ petId, quantity, status }: Item): string {
  return `${quantity} of pet ${petId}, ${status}`;
}

type OrderText = Pick<Order, 'tag' | 'quantity' | 'complete'>;

/** Omits the order's id, which the service chooses. The tag is the client's. */
export function orderText({ tag, quantity, complete }: OrderText): string {
  return `order #${tag} of ${quantity}${complete ? ', complete' : ''}`;
}

function ordersText(orders: readonly OrderText[]): string {
  const sorted = orders.toSorted((one, other) => one.tag - other.tag);
  return `orders [${sorted.map(orderText).join('; ')}]`;
}
