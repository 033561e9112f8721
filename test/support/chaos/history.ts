/** The requests and responses of a chaos run's clients, which are all that the checker relies on. */

export type PetStatus = 'available' | 'pending' | 'sold';

/** A request. An order is identified by its `tag`, which the client chooses and sends as the ship date. */
export type Request =
  | { readonly do: 'createPet'; readonly name: string; readonly categoryId: number }
  | { readonly do: 'getPet'; readonly petId: number }
  | { readonly do: 'findPets'; readonly petIds: readonly number[] }
  | {
      readonly do: 'replacePet';
      readonly petId: number;
      readonly name: string;
      readonly categoryId: number;
      readonly status?: PetStatus | undefined;
    }
  | {
      readonly do: 'updatePet';
      readonly petId: number;
      readonly name?: string | undefined;
      readonly status?: PetStatus | undefined;
    }
  | { readonly do: 'deletePet'; readonly petId: number }
  | { readonly do: 'getInventory'; readonly petId: number }
  | { readonly do: 'setInventory'; readonly petId: number; readonly quantity: number }
  | {
      readonly do: 'placeOrder';
      readonly petId: number;
      readonly tag: number;
      readonly quantity: number;
      readonly complete: boolean;
    }
  | { readonly do: 'listOrders'; readonly petId: number }
  | { readonly do: 'getOrder'; readonly petId: number; readonly tag: number; readonly orderId: number }
  | {
      readonly do: 'updateOrder';
      readonly petId: number;
      readonly tag: number;
      readonly orderId: number;
      readonly quantity?: number | undefined;
      readonly complete?: boolean | undefined;
    }
  | { readonly do: 'cancelOrder'; readonly petId: number; readonly tag: number; readonly orderId: number }
  | { readonly do: 'createCategory'; readonly name: string; readonly description: string }
  | { readonly do: 'getCategory'; readonly categoryId: number }
  | {
      readonly do: 'replaceCategory';
      readonly categoryId: number;
      readonly name: string;
      readonly description: string;
    }
  | {
      readonly do: 'updateCategory';
      readonly categoryId: number;
      readonly name?: string | undefined;
      readonly description?: string | undefined;
    }
  | { readonly do: 'deleteCategory'; readonly categoryId: number };

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

export interface Category {
  readonly id: number;
  readonly name: string;
  readonly description: string;
}

/** The content of a successful response. */
export type Value =
  | { readonly pet: Pet }
  | { readonly pets: readonly Pet[] }
  | { readonly item: Item }
  | { readonly order: Order }
  | { readonly orders: readonly Order[] }
  | { readonly category: Category }
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
