/** What the clients of a chaos run asked and what they were told: the only thing that the checker believes. */

export type PetStatus = 'available' | 'pending' | 'sold';

/** What a client asks. An order is known by its `tag`, which the client chose and sent as the ship date. */
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

/** What a client is told. */
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
  /** A definite no: nothing was changed. */
  | { readonly kind: 'refused'; readonly code: string }
  /** No answer, or one that does not say what became of the request. */
  | { readonly kind: 'unknown'; readonly why: string };

/** One call of a client. Times are Unix time by the clock of the checker, which never jumps. */
export interface Call {
  /** The number of the call, from 1. */
  readonly id: number;
  readonly transport: 'REST' | 'gRPC';
  /** The name of the account whose key was shown. */
  readonly account: string;
  readonly request: Request;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

/** Unix time that no change of the machine's clock moves. */
export function trueMs(): number {
  return performance.timeOrigin + performance.now();
}

/** The codes that say that a request was turned away before it met its method. */
const TURNED_AWAY: readonly string[] = ['RATE_LIMITED', 'API_KEY_BANNED', 'API_KEY_INVALID', 'API_KEY_MISSING'];

export function isTurnedAway(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && TURNED_AWAY.includes(outcome.code);
}
