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

export type Workload = ReturnType<typeof createWorkload>;

/** `homes` are the categories of the pets. */
export function createWorkload(homes: readonly [number, ...number[]]) {
  let pets: KnownPet[] = [];
  let count = 0;
  const newNumber = () => {
    count += 1;
    return count;
  };

  const nextOf = (pet: KnownPet, random: Random): Request => {
    const petId = pet.id;
    if (!pet.isStocked) {
      pet.isStocked = true;
      return { do: 'setInventory', petId, quantity: random.int(3, 30) };
    }
    const order = random.pickAny(pet.orders);
    if (order !== undefined && random.chance(0.4)) return nextOfOrder(petId, order, random);
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
        const others = Array.from({ length: FOUND_TOGETHER }, () => random.pickAny(pets)?.id ?? petId);
        return { do: what, petIds: [...new Set([petId, ...others])] };
      }
      case 'setInventory':
        return { do: what, petId, quantity: random.int(0, 20) };
      case 'placeOrder':
        return { do: what, petId, tag: newNumber(), quantity: random.int(1, 5), complete: random.chance(0.1) };
      case 'replacePet':
      case 'updatePet': {
        const [name, status] = [`Pet ${newNumber()}`, random.pick(STATUSES)];
        if (what === 'updatePet') return { do: what, petId, ...(random.chance(0.7) ? { name } : { status }) };
        const { categoryId } = pet;
        return { do: what, petId, name, categoryId, ...(random.chance(0.3) ? { status } : {}) };
      }
      default:
        return { do: what, petId };
    }
  };

  return {
    next(random: Random): Request {
      const pet = random.pickAny(pets);
      if (pet === undefined || pets.length < PETS) {
        return { do: 'createPet', name: `Pet ${newNumber()}`, categoryId: random.pick(homes) };
      }
      pet.calls += 1;
      return nextOf(pet, random);
    },
    record(request: Request, outcome: Outcome): void {
      const { value = { done: true } } = outcome.kind === 'ok' ? outcome : {};
      if (request.do === 'createPet' && 'pet' in value) {
        const { id, categoryId } = value.pet;
        pets.push({ id, categoryId, calls: 1, unanswered: 0, isStocked: false, orders: [] });
      }
      const pet = 'petId' in request ? pets.find(({ id }) => id === request.petId) : undefined;
      if (pet === undefined) return;
      if (request.do === 'placeOrder' && 'order' in value) {
        pet.orders.push({ tag: request.tag, orderId: value.order.id });
      }
      if (outcome.kind === 'unknown') pet.unanswered += 1;
      const isGone = request.do === 'deletePet' && outcome.kind !== 'refused';
      const isWornOut = pet.calls >= MAX_CALLS || pet.unanswered >= MAX_UNANSWERED;
      if (isGone || isWornOut) pets = pets.filter((one) => one !== pet);
    },
  };
}

function nextOfOrder(petId: number, order: { tag: number; orderId: number }, random: Random): Request {
  const what = random.weighted({ getOrder: 4, updateOrder: 4, cancelOrder: 3 });
  if (what !== 'updateOrder') return { do: what, petId, ...order };
  const which = random.weighted({ quantity: 6, complete: 3, both: 1 });
  const quantity = which === 'complete' ? {} : { quantity: random.int(1, 6) };
  return { do: what, petId, ...order, ...quantity, ...(which === 'quantity' ? {} : { complete: true }) };
}
