/** Checks that no unit is lost or sold twice, and that each pet and order stems from exactly one request. */
import { CHECKER } from './accounts.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { Call, Order } from './history.ts';

export function checkStock({ calls, orders }: Pick<Evidence, 'calls' | 'orders'>): Violation[] {
  return [...negativeStock(calls), ...uncountedUnits(calls, orders)];
}

function negativeStock(calls: readonly Call[]): Violation[] {
  return calls.flatMap(({ outcome, id }) => {
    if (outcome.kind !== 'ok' || !('item' in outcome.value) || outcome.value.item.quantity >= 0) return [];
    return [
      {
        title: `pet ${outcome.value.item.petId} had a negative stock`,
        lines: [JSON.stringify(outcome.value), `#${id}`],
      },
    ];
  });
}

/** For pets whose inventory was set once: stock and ordered units add up to what was set. */
function uncountedUnits(calls: readonly Call[], orders: readonly Order[]): Violation[] {
  const last = lastQuantities(calls);
  return [...setOnce(calls)].flatMap(([petId, put]) => {
    const inStock = last.get(petId);
    if (inStock === undefined) return [];
    const ordered = orders.filter((order) => order.petId === petId);
    const inOrders = ordered.reduce((sum, { quantity }) => sum + quantity, 0);
    if (inStock + inOrders === put) return [];
    const title = `the units of pet ${petId} don't add up: ${inStock} in stock + ${inOrders} in orders, of ${put}`;
    return [{ title, lines: ordered.map((order) => JSON.stringify(order)) }];
  });
}

/** The quantity that was set, of each pet whose inventory was certainly set exactly once. */
function setOnce(calls: readonly Call[]): Map<number, number> {
  const sets = new Map<number, (number | undefined)[]>();
  for (const { request, outcome } of calls) {
    if (request.do !== 'setInventory' || outcome.kind === 'refused') continue;
    const quantity = outcome.kind === 'ok' ? request.quantity : undefined;
    sets.set(request.petId, [...(sets.get(request.petId) ?? []), quantity]);
  }
  const once = [...sets].flatMap(([petId, [first, ...more]]): [number, number][] =>
    first === undefined || more.length > 0 ? [] : [[petId, first]],
  );
  return new Map(once);
}

/** The final stock of each pet, as the checker read it. */
function lastQuantities(calls: readonly Call[]): Map<number, number> {
  const items = calls.flatMap(({ account, outcome }) =>
    account === CHECKER.name && outcome.kind === 'ok' && 'item' in outcome.value ? [outcome.value.item] : [],
  );
  return new Map(items.map(({ petId, quantity }) => [petId, quantity]));
}

/** Each pet and order was created by one call, and each order is for the pet of its request. */
export function checkOrigins({ calls, pets, orders }: Pick<Evidence, 'calls' | 'pets' | 'orders'>): Violation[] {
  const requests = calls.filter(({ outcome }) => outcome.kind !== 'refused').map(({ request }) => request);
  const names = new Map(requests.flatMap((request) => ('name' in request ? [[request.name, request]] : [])));
  const placed = new Map(requests.flatMap((request) => (request.do === 'placeOrder' ? [[request.tag, request]] : [])));
  return [
    ...twice(pets.map(({ name }) => name)).map((name) => `two pets are named "${name}"`),
    ...twice(orders.map(({ tag }) => `order #${tag}`)).map((order) => `${order} is there twice`),
    ...pets.filter(({ name }) => !names.has(name)).map((pet) => `nobody asked for ${JSON.stringify(pet)}`),
    ...orders
      .filter(({ tag, petId }) => placed.get(tag)?.petId !== petId)
      .map((order) => `nobody placed ${JSON.stringify(order)}`),
  ].map((title) => ({ title, lines: [] }));
}

function twice(all: readonly string[]): string[] {
  const seen = new Set<string>();
  return all.filter((one) => seen.size === seen.add(one).size);
}
