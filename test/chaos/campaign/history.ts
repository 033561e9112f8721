/** The evidence of a chaos run: what its clients asked and were answered, and all else that the checkers rely on. */
import type { components } from '../../../gen/openapi/types.ts';

type Schemas = components['schemas'];
export type Pet = Readonly<Schemas['Pet']>;
export type PetStatus = Schemas['PetStatus'];
export type Item = Readonly<Schemas['InventoryItem']>;
export type OrderRow = Readonly<Schemas['Order']>;
export type Order = Required<Omit<OrderRow, 'shipDate'>> & { readonly tag: number };

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
  readonly id: number;
  readonly transport: 'REST' | 'gRPC';
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

export type FeedEvent = Readonly<Omit<Schemas['Event'], 'time'>>;

export type Lists = Readonly<Record<'pets' | 'inventory' | 'categories' | 'orders', readonly Row[]>>;
/** A row of a list. Inventory has the ids of its pets. */
export type Row = { readonly id?: number; readonly petId?: number };

/** What a follower of the feed has got, over all its connections. */
export interface Followed {
  readonly name: string;
  readonly events: readonly FeedEvent[];
  /** What it began with; undefined when it began with the first event. */
  readonly lists?: Lists;
  /** Why it could not go on. */
  readonly failures: readonly string[];
}

export interface Happened {
  readonly name: string;
  readonly what: string;
  readonly startMs: number;
  /** When it was undone. */
  readonly endMs: number;
}

export interface Evidence {
  readonly calls: readonly Call[];
  readonly faults: readonly Happened[];
  /** All events, and what the lists of the shop say, at the end. */
  readonly feed: readonly FeedEvent[];
  readonly lists: Lists;
  readonly followed: readonly Followed[];
}

/** A broken promise. */
export interface Violation {
  readonly title: string;
  /** The part of the evidence that shows it. */
  readonly lines: readonly string[];
}

/** A violation that shows the first of these; none when there are none. */
export function unless(found: readonly unknown[], title: string): Violation[] {
  const lines = found.slice(0, 3).map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  return found.length === 0 ? [] : [{ title, lines }];
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}
