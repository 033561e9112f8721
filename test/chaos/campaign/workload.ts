/** Chooses the next request of a client. Each object is used for a while, then replaced by a new one. */
import type { Outcome, Request } from './history.ts';
import type { Random } from './random.ts';

/** Histories are checked object by object, and short ones are checked fast. */
const MAX_CALLS = 60;
/** Each call without a response multiplies the possible orders. */
const MAX_UNANSWERED = 4;
const PETS = 24;
const FOUND_TOGETHER = 5;

interface KnownPet {
  readonly id: number;
  readonly categoryId: number;
  calls: number;
  unanswered: number;
  isStocked: boolean;
  readonly orders: { readonly tag: number; readonly orderId: number }[];
}

const STATUSES = ['available', 'pending', 'sold'] as const;

export class Workload {
  readonly #homes: readonly [number, ...number[]];
  #pets: KnownPet[] = [];
  #named = 0;

  /** `homes` are the categories of the pets. */
  constructor(homes: readonly [number, ...number[]]) {
    this.#homes = homes;
  }

  next(random: Random): Request {
    const pet = random.pickAny(this.#pets);
    if (pet === undefined || this.#pets.length < PETS) {
      return { do: 'createPet', name: this.#name('Pet'), categoryId: random.pick(this.#homes) };
    }
    pet.calls += 1;
    return this.#nextOf(pet, random);
  }

  /** Records the outcome of a request. */
  record(request: Request, outcome: Outcome): void {
    const { value = { done: true } } = outcome.kind === 'ok' ? outcome : {};
    if (request.do === 'createPet' && 'pet' in value) {
      const { id, categoryId } = value.pet;
      this.#pets.push({ id, categoryId, calls: 1, unanswered: 0, isStocked: false, orders: [] });
    }
    const pet = 'petId' in request ? this.#pets.find(({ id }) => id === request.petId) : undefined;
    if (pet === undefined) return;
    if (request.do === 'placeOrder' && 'order' in value) {
      pet.orders.push({ tag: request.tag, orderId: value.order.id });
    }
    if (outcome.kind === 'unknown') pet.unanswered += 1;
    const isGone = request.do === 'deletePet' && outcome.kind !== 'refused';
    const isWornOut = pet.calls >= MAX_CALLS || pet.unanswered >= MAX_UNANSWERED;
    if (isGone || isWornOut) this.#pets = this.#pets.filter((one) => one !== pet);
  }

  #name(what: string): string {
    this.#named += 1;
    return `${what} ${this.#named}`;
  }

  #nextOf(pet: KnownPet, random: Random): Request {
    const petId = pet.id;
    if (!pet.isStocked) {
      pet.isStocked = true;
      return { do: 'setInventory', petId, quantity: random.int(3, 30) };
    }
    const order = random.pickAny(pet.orders);
    if (order !== undefined && random.chance(0.4)) return this.#nextOfOrder(petId, order, random);
    const what = random.weighted({
      getPet: 4,
      findPets: 3,
      getInventory: 4,
      listOrders: 3,
      replacePet: 1,
      updatePet: 2,
      deletePet: 0.3,
      setInventory: 1,
      placeOrder: 9,
    });
    switch (what) {
      case 'findPets': {
        const others = Array.from({ length: FOUND_TOGETHER }, () => random.pickAny(this.#pets)?.id ?? petId);
        return { do: what, petIds: [...new Set([petId, ...others])] };
      }
      case 'setInventory':
        return { do: what, petId, quantity: random.int(0, 20) };
      case 'placeOrder':
        this.#named += 1;
        return { do: what, petId, tag: this.#named, quantity: random.int(1, 5), complete: random.chance(0.1) };
      case 'replacePet':
      case 'updatePet':
        return this.#nextChange(what, pet, random);
      default:
        return { do: what, petId };
    }
  }

  #nextChange(what: 'replacePet' | 'updatePet', { id: petId, categoryId }: KnownPet, random: Random): Request {
    const name = this.#name('Pet');
    const status = random.pick(STATUSES);
    if (what === 'replacePet') return { do: what, petId, name, categoryId, ...(random.chance(0.3) ? { status } : {}) };
    return { do: what, petId, ...(random.chance(0.7) ? { name } : { status }) };
  }

  #nextOfOrder(petId: number, order: { tag: number; orderId: number }, random: Random): Request {
    const what = random.weighted({ getOrder: 4, updateOrder: 4, cancelOrder: 3 });
    if (what !== 'updateOrder') return { do: what, petId, ...order };
    const which = random.weighted({ quantity: 6, complete: 3, both: 1 });
    const quantity = which === 'complete' ? {} : { quantity: random.int(1, 6) };
    return { do: what, petId, ...order, ...quantity, ...(which === 'quantity' ? {} : { complete: true }) };
  }
}
