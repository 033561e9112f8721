/**
 * A model whose writes must have their events: each change of a row takes the row's next event of the feed, which must
 * tell just this change. So a history is explained only if its writes have an order that is also the order of the
 * events of each row, every write that took place has its events, and every event its write.
 */
import { toOrder } from './calls.ts';
import type { FeedEvent, Request } from './history.ts';
import type { Model, Operation } from './linearize.ts';
import { itemText, orderText, type PetState, petModel, petText } from './pet-model.ts';

/** The rows of a pet and its orders, as text, by name. */
function rowsOf(id: number, { pet, status, quantity, orders }: PetState): ReadonlyMap<string, string> {
  const rows = new Map(orders.map((order) => [`order #${order.tag}`, orderText(order)]));
  if (pet !== undefined) rows.set('pet', petRow({ id, ...pet, status }, { petId: id, quantity, status }));
  return rows;
}

/** The object that an event is about, its row, and what it tells of it. */
export function toldBy({ type, pet, inventory, category, order: raw }: FeedEvent) {
  const [, change] = type.split('.');
  if (pet !== undefined && inventory !== undefined) {
    return { object: pet.id, row: 'pet', text: `${change} ${petRow(pet, inventory)}` };
  }
  // Nobody changes the categories of a run.
  if (category !== undefined) return { object: undefined, row: 'category', text: `${change} ${category.name}` };
  if (raw === undefined) return { object: undefined, row: type, text: 'no resource' };
  const order = toOrder(raw);
  return { object: order.petId, row: `order #${order.tag}`, text: `${change} ${orderText(order)}` };
}

/** An event as a line of a report. */
export function lineOf(event: FeedEvent): string {
  const [kind] = event.type.split('.');
  return `event ${event.id}: ${kind} ${toldBy(event).text}`;
}

function petRow(pet: Parameters<typeof petText>[0], item: Parameters<typeof itemText>[0]): string {
  return `${petText(pet)}, ${itemText(item)}`;
}

/** After the last call, nothing of the feed is left. */
export interface EndOfFeed {
  readonly do: 'endOfFeed';
}

const NOTHING_LEFT = 'nothing is left of the feed';

export function endOfFeed(startMs: number): Operation<EndOfFeed> {
  return { request: { do: 'endOfFeed' }, startMs, endMs: startMs, answer: NOTHING_LEFT, isWrite: false };
}

interface Fed {
  readonly state: PetState;
  /** How many events of each row have been taken. */
  readonly taken: ReadonlyMap<string, number>;
}

/** `events` are those of the pet, in the order of the feed. */
export function withFeed(petId: number, events: readonly FeedEvent[]): Model<Fed, Request | EndOfFeed> {
  const model = petModel(petId);
  const told = Map.groupBy(events.map(toldBy), ({ row }) => row);
  /** Undefined when an event is missing or tells something else. */
  const take = (before: PetState, after: PetState, taken: Fed['taken']) => {
    const now = new Map(taken);
    const [old, fresh] = [rowsOf(petId, before), rowsOf(petId, after)];
    for (const row of new Set([...old.keys(), ...fresh.keys()])) {
      const [was, is] = [old.get(row), fresh.get(row)];
      if (was === is) continue;
      const change = was === undefined ? `created ${is}` : is === undefined ? `deleted ${was}` : `updated ${is}`;
      const count = now.get(row) ?? 0;
      if (told.get(row)?.[count]?.text !== change) return;
      now.set(row, count + 1);
    }
    return now;
  };
  return {
    initial: { state: model.initial, taken: new Map() },
    fingerprint: ({ state, taken }) => `${model.fingerprint(state)} ${[...taken].sort().join()}`,
    step(fed, request) {
      if (request.do === 'endOfFeed') {
        const count = [...fed.taken.values()].reduce((sum, one) => sum + one, 0);
        return { state: fed, answer: count === events.length ? NOTHING_LEFT : 'some events have no change' };
      }
      const { state, answer } = model.step(fed.state, request);
      const taken = state === fed.state ? fed.taken : take(fed.state, state, fed.taken);
      return taken === undefined ? { state: fed, answer: 'no event' } : { state: { state, taken }, answer };
    },
  };
}
