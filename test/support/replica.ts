/** A copy of the shop, kept by its events. */
import type { Random } from './chaos/random.ts';

// biome-ignore lint/suspicious/noExplicitAny: the bodies of REST, of every shape
type Json = any;

export class Replica {
  readonly pets = new Map<number, Json>();
  readonly inventory = new Map<number, Json>();
  readonly categories = new Map<number, Json>();
  readonly orders = new Map<number, Json>();
  /** The id of the last event that was applied. */
  last = 0;

  /** Applies an event: at least once, and in order. */
  apply(event: Json): void {
    this.last = event.id;
    const [kind, change] = event.type.split('.');
    const isGone = change === 'deleted';
    const keep = (map: Map<number, Json>, id: number, value: Json) => (isGone ? map.delete(id) : map.set(id, value));
    if (kind === 'pet') {
      keep(this.pets, event.pet.id, event.pet);
      keep(this.inventory, event.pet.id, event.inventory);
    } else if (kind === 'category') keep(this.categories, event.category.id, event.category);
    else keep(this.orders, event.order.id, event.order);
  }

  /** Begins with what the lists say. */
  load(lists: Lists): void {
    for (const pet of lists.pets) this.pets.set(pet.id, pet);
    for (const item of lists.inventory) this.inventory.set(item.petId, item);
    for (const category of lists.categories) this.categories.set(category.id, category);
    for (const order of lists.orders) this.orders.set(order.id, order);
  }

  /** What the lists of the shop would say. */
  lists(): Lists {
    const sorted = (map: Map<number, Json>) => [...map].sort(([one], [other]) => one - other).map(([, value]) => value);
    return {
      pets: sorted(this.pets),
      inventory: sorted(this.inventory),
      categories: sorted(this.categories),
      orders: sorted(this.orders),
    };
  }
}

export interface Lists {
  readonly pets: readonly Json[];
  readonly inventory: readonly Json[];
  readonly categories: readonly Json[];
  readonly orders: readonly Json[];
}

/** Reads all pages of a list, through any number of changes meanwhile. */
export async function readAll(url: string, key: string, path: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let next: string | undefined = `${path}?limit=100`; next !== undefined; ) {
    const response: Response = await fetch(`${url}${next}`, { headers: { authorization: `Bearer ${key}` } });
    if (response.status !== 200) throw new Error(`${next} answered ${response.status}: ${await response.text()}`);
    rows.push(...((await response.json()) as Json[]));
    next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  }
  return rows;
}

export async function readLists(url: string, key: string): Promise<Lists> {
  return {
    pets: await readAll(url, key, '/pets'),
    inventory: await readAll(url, key, '/store/inventory'),
    categories: await readAll(url, key, '/categories'),
    orders: await readAll(url, key, '/store/orders'),
  };
}

/** Changes the shop at random until `endMs`, and at least 50 times, with whatever answers come. */
export async function changeAtRandom(url: string, key: string, endMs: number, random: Random): Promise<void> {
  const ids = { pets: [] as number[], categories: [] as number[], orders: [] as number[] };
  const pick = (list: readonly number[]) => random.pickAny(list) ?? 1;
  const send = async (method: string, path: string, json?: unknown): Promise<Json> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return response.status === 201 ? JSON.parse(text).id : undefined;
  };
  const add = async (list: number[], path: string, json: unknown) => {
    const id = await send('POST', path, json);
    if (id !== undefined) list.push(id);
  };
  await add(ids.categories, '/categories', { name: 'first' });
  const quantity = () => random.int(1, 5);
  const changes = [
    () => add(ids.categories, '/categories', { name: `category ${random.next()}` }),
    () => add(ids.pets, '/pets', { name: `pet ${random.next()}`, categoryId: pick(ids.categories) }),
    () => add(ids.pets, '/pets', { name: `pet ${random.next()}`, categoryId: pick(ids.categories) }),
    () => send('PUT', `/store/inventory/${pick(ids.pets)}`, { quantity: quantity() * 3 }),
    () => send('PUT', `/store/inventory/${pick(ids.pets)}`, { quantity: quantity() * 3 }),
    () =>
      add(ids.orders, '/store/orders', { petId: pick(ids.pets), quantity: quantity(), complete: random.chance(0.2) }),
    () => add(ids.orders, '/store/orders', { petId: pick(ids.pets), quantity: quantity() }),
    () => send('PATCH', `/store/orders/${pick(ids.orders)}`, { quantity: quantity() }),
    () => send('PATCH', `/store/orders/${pick(ids.orders)}`, { complete: true }),
    () => send('DELETE', `/store/orders/${pick(ids.orders)}`),
    () => send('PATCH', `/pets/${pick(ids.pets)}`, { status: random.chance(0.5) ? 'sold' : 'available' }),
    () => send('DELETE', `/pets/${pick(ids.pets)}`),
    () => send('DELETE', `/categories/${pick(ids.categories)}`),
  ];
  for (let count = 0; count < 50 || Date.now() < endMs; count += 1) await random.pickAny(changes)?.();
}
