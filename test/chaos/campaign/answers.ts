/** Responses as text, in which the model's and the observed ones are compared and reported. */
import type { Item, Order, Outcome, Pet, Value } from './history.ts';

/** Undefined when there was no response. */
export function answerOf(outcome: Outcome): string | undefined {
  if (outcome.kind === 'unknown') return undefined;
  return outcome.kind === 'refused' ? outcome.code : describe(outcome.value);
}

export const DONE = 'done';

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

export function ordersText(orders: readonly OrderText[]): string {
  const sorted = orders.toSorted((one, other) => one.tag - other.tag);
  return `orders [${sorted.map(orderText).join('; ')}]`;
}
