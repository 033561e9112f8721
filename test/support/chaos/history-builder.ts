/** Builds histories for the tests of the checker. Times are seconds since the start of a day. */
import type { Call, Evidence, Happened, Order, Outcome, Pet, PetStatus, Request, Touches, Value } from './history.ts';

const DAY_START_MS = Date.UTC(2026, 10, 21);

const PET_ID = 1;
const HOME = 9;

export interface Told {
  readonly request: Request;
  readonly outcome: Outcome;
}

/** A call from one second to another. */
export function at(startSeconds: number, endSeconds: number, told: Told, account = 'large'): Call {
  const [startMs, endMs] = [DAY_START_MS + startSeconds * 1_000, DAY_START_MS + endSeconds * 1_000];
  return { id: Math.round(startSeconds * 1_000), transport: 'REST', account, startMs, endMs, ...told };
}

function ok(request: Request, value: Value): Told {
  return { request, outcome: { kind: 'ok', value } };
}

export function refused({ request }: Told, code: string): Told {
  return { request, outcome: { kind: 'refused', code } };
}

export function unanswered({ request }: Told): Told {
  return { request, outcome: { kind: 'unknown', why: '503 UNAVAILABLE' } };
}

export function pet(name: string, status: PetStatus = 'available'): Pet {
  return { id: PET_ID, name, categoryId: HOME, status };
}

export function created(name: string): Told {
  return ok({ do: 'createPet', name, categoryId: HOME }, { pet: pet(name) });
}

export function renamed(name: string, status: PetStatus = 'available'): Told {
  return ok({ do: 'updatePet', petId: PET_ID, name }, { pet: pet(name, status) });
}

export function seen(name: string, status: PetStatus = 'available'): Told {
  return ok({ do: 'getPet', petId: PET_ID }, { pet: pet(name, status) });
}

/** A list with or without the pet. */
export function found(name: string | undefined): Told {
  return ok({ do: 'findPets', petIds: [PET_ID] }, { pets: name === undefined ? [] : [pet(name)] });
}

export const deleted = ok({ do: 'deletePet', petId: PET_ID }, { done: true });

export function stocked(quantity: number, status: PetStatus = 'available'): Told {
  return ok({ do: 'setInventory', petId: PET_ID, quantity }, { item: { petId: PET_ID, quantity, status } });
}

export function inStock(quantity: number, status: PetStatus = 'available'): Told {
  return ok({ do: 'getInventory', petId: PET_ID }, { item: { petId: PET_ID, quantity, status } });
}

export function order(tag: number, quantity: number, complete = false): Order {
  return { id: 100 + tag, petId: PET_ID, tag, quantity, complete };
}

export function placed(tag: number, quantity: number, complete = false): Told {
  return ok({ do: 'placeOrder', petId: PET_ID, tag, quantity, complete }, { order: order(tag, quantity, complete) });
}

export function ordered(...orders: Order[]): Told {
  return ok({ do: 'listOrders', petId: PET_ID }, { orders });
}

export function changed(tag: number, quantity: number): Told {
  const request = { do: 'updateOrder', petId: PET_ID, tag, orderId: 100 + tag, quantity } as const;
  return ok(request, { order: order(tag, quantity) });
}

export function completed(tag: number, quantity: number): Told {
  const request = { do: 'updateOrder', petId: PET_ID, tag, orderId: 100 + tag, complete: true } as const;
  return ok(request, { order: order(tag, quantity, true) });
}

export function cancelled(tag: number): Told {
  return ok({ do: 'cancelOrder', petId: PET_ID, tag, orderId: 100 + tag }, { done: true });
}

/** A fault from one second to another. */
export function fault(startSeconds: number, endSeconds: number, ...touches: Touches[]): Happened {
  const [startMs, endMs] = [DAY_START_MS + startSeconds * 1_000, DAY_START_MS + endSeconds * 1_000];
  return { name: touches.join(), touches, what: `something with ${touches.join()}`, startMs, endMs };
}

/** Sequential reads of one account, a hundredth of a second each. */
export function burst(startSeconds: number, count: number, told: Told, account = 'minute'): Call[] {
  return Array.from({ length: count }, (_, index) => {
    const start = startSeconds + index / 100;
    return at(start, start + 0.005, told, account);
  });
}

export function evidence(some: Partial<Evidence>): Evidence {
  const accounts = [{ name: 'minute', perMinute: 100, perDay: 150 }];
  const lists = { pets: [], inventory: [], categories: [], orders: [] };
  const nothing = { calls: [], faults: [], feed: [], lists, followed: [], usage: [] };
  return { servers: 1, accounts, ...nothing, ...some };
}
