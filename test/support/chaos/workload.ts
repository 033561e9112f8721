/** Chooses the next request of a client. Each object is used for a while, then replaced by a new one. */
import type { Outcome, Request } from './history.ts';
import type { Random } from './random.ts';

/** Histories are checked object by object, and short ones are checked fast. */
const MAX_CALLS = 60;
/** Each call without a response multiplies the possible orders. */
const MAX_UNANSWERED = 4;
const PETS = 24;
const CATEGORIES = 6;
const FOUND_TOGETHER = 5;

interface Used {
  calls: number;
  unanswered: number;
}

interface KnownPet extends Used {
  readonly id: number;
  readonly categoryId: number;
  isStocked: boolean;
  readonly orders: { readonly tag: number; readonly orderId: number }[];
}

interface KnownCategory extends Used {
  readonly id: number;
}

const STATUSES = ['available', 'pending', 'sold'] as const;

export class Workload {
  readonly #homes: readonly [number, ...number[]];
  #pets: KnownPet[] = [];
  #categories: KnownCategory[] = [];
  #named = 0;

  /** `homes` are permanent categories for the pets. */
  constructor(homes: readonly [number, ...number[]]) {
    this.#homes = homes;
  }

  next(random: Random): Request {
    const request = random.chance(0.15) ? this.#nextOfCategory(random) : this.#nextOfPet(random);
    const used = this.#usedBy(request);
    if (used !== undefined) used.calls += 1;
    return request;
  }

  /** Records the outcome of a request. */
  record(request: Request, outcome: Outcome): void {
    const used = this.#usedBy(request);
    if (used !== undefined && outcome.kind === 'unknown') used.unanswered += 1;
    if (outcome.kind === 'ok') this.#recordValue(request, outcome);
    const isGone = request.do === 'deletePet' || request.do === 'deleteCategory';
    const isWornOut = ({ calls, unanswered }: Used) => calls >= MAX_CALLS || unanswered >= MAX_UNANSWERED;
    const isOver = (one: Used) => isWornOut(one) || (isGone && one === used && outcome.kind !== 'refused');
    this.#pets = this.#pets.filter((pet) => !isOver(pet));
    this.#categories = this.#categories.filter((category) => !isOver(category));
  }

  #recordValue(request: Request, { value }: Outcome & { kind: 'ok' }): void {
    const fresh = { calls: 1, unanswered: 0 };
    if (request.do === 'createPet' && 'pet' in value) {
      const { id, categoryId } = value.pet;
      this.#pets.push({ ...fresh, id, categoryId, isStocked: false, orders: [] });
    }
    if (request.do === 'createCategory' && 'category' in value) {
      this.#categories.push({ ...fresh, id: value.category.id });
    }
    if (request.do === 'placeOrder' && 'order' in value) {
      const pet = this.#pets.find(({ id }) => id === request.petId);
      pet?.orders.push({ tag: request.tag, orderId: value.order.id });
    }
  }

  #usedBy(request: Request): Used | undefined {
    if ('petId' in request) return this.#pets.find(({ id }) => id === request.petId);
    return 'categoryId' in request ? this.#categories.find(({ id }) => id === request.categoryId) : undefined;
  }

  #name(what: string): string {
    this.#named += 1;
    return `${what} ${this.#named}`;
  }

  #nextOfCategory(random: Random): Request {
    const category = random.pickAny(this.#categories);
    const [name, description] = [this.#name('Kind'), `Number ${random.int(1, 1_000)}`];
    if (category === undefined || this.#categories.length < CATEGORIES) {
      return { do: 'createCategory', name, description };
    }
    const categoryId = category.id;
    const weights = { getCategory: 6, replaceCategory: 2, updateCategory: 2, deleteCategory: 0.2 };
    const what = random.weighted(weights);
    if (what === 'getCategory' || what === 'deleteCategory') return { do: what, categoryId };
    if (what === 'replaceCategory') return { do: what, categoryId, name, description };
    return { do: what, categoryId, ...(random.chance(0.5) ? { name } : { description }) };
  }

  #nextOfPet(random: Random): Request {
    const pet = random.pickAny(this.#pets);
    if (pet === undefined || this.#pets.length < PETS) {
      return { do: 'createPet', name: this.#name('Pet'), categoryId: random.pick(this.#homes) };
    }
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
