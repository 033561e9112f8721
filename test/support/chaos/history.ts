/** The requests and responses of a chaos run's clients, which are all that the checker relies on. */

export type PetStatus = 'available' | 'pending' | 'sold';

/** A request about a pet, or about one of its orders. */
type OfPet<Name extends string, Fields = unknown> = { readonly do: Name; readonly petId: number } & Readonly<Fields>;
type OfOrder<Name extends string, Fields = unknown> = OfPet<Name, { tag: number; orderId: number } & Fields>;

/** An order is identified by its `tag`, which the client chooses and sends as the ship date. */
export type Request =
  | { readonly do: 'createPet'; readonly name: string; readonly categoryId: number }
  | { readonly do: 'findPets'; readonly petIds: readonly number[] }
  | OfPet<'getPet'>
  | OfPet<'deletePet'>
  | OfPet<'getInventory'>
  | OfPet<'listOrders'>
  | OfPet<'replacePet', { name: string; categoryId: number; status?: PetStatus }>
  | OfPet<'updatePet', { name?: string; status?: PetStatus }>
  | OfPet<'setInventory', { quantity: number }>
  | OfPet<'placeOrder', { tag: number; quantity: number; complete: boolean }>
  | OfOrder<'getOrder'>
  | OfOrder<'cancelOrder'>
  | OfOrder<'updateOrder', { quantity?: number; complete?: boolean }>;

export interface Pet {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly status: PetStatus;
}

export interface Item {
  readonly petId: number;
  readonly quantity: number;
  readonly status: PetStatus;
}

export interface Order {
  readonly id: number;
  readonly petId: number;
  readonly tag: number;
  readonly quantity: number;
  readonly complete: boolean;
}

/** The content of a successful response. */
export type Value =
  | { readonly pet: Pet }
  | { readonly pets: readonly Pet[] }
  | { readonly item: Item }
  | { readonly order: Order }
  | { readonly orders: readonly Order[] }
  | { readonly done: true };

export type Outcome =
  | { readonly kind: 'ok'; readonly value: Value }
  /** A definite refusal: nothing was changed. */
  | { readonly kind: 'refused'; readonly code: string }
  /** No response, or one after which the request may have been executed or not. */
  | { readonly kind: 'unknown'; readonly why: string };

/** One call of a client. Times are Unix time by the clock of the checker, which never jumps. */
export interface Call {
  /** The number of the call, from 1. */
  readonly id: number;
  readonly transport: 'REST' | 'gRPC';
  /** The name of the account whose key was used. */
  readonly account: string;
  readonly request: Request;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

/** Unix time that is not affected by changes of the machine's clock. */
export function trueMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Error codes of requests that were refused before they reached their method. */
const TURNED_AWAY: readonly string[] = ['RATE_LIMITED', 'API_KEY_BANNED', 'API_KEY_INVALID', 'API_KEY_MISSING'];

export function isTurnedAway(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && TURNED_AWAY.includes(outcome.code);
}
