/** Reads the final state: each object by itself, as calls of the history, and then all lists, page by page. */
import { readAll, readLists } from '../replica.ts';
import type { OpenAccount } from './accounts.ts';
import type { Caller } from './clients.ts';
import type { Deployment } from './deployment.ts';
import type { Evidence } from './evidence.ts';
import { toOrder } from './rest-calls.ts';
import type { Workload } from './workload.ts';

/** The number of concurrent reads. */
const LOOKS = 16;

export async function lookAtAll(
  { publicAddress }: Deployment,
  caller: Caller,
  { key }: OpenAccount,
  { petIds, categoryIds }: Workload,
): Promise<Pick<Evidence, 'pets' | 'orders' | 'lists' | 'feed'>> {
  const ofPet = (petId: number) =>
    (['getPet', 'getInventory', 'listOrders'] as const).map((what) => ({ do: what, petId }));
  const ofCategory = (categoryId: number) => ({ do: 'getCategory', categoryId }) as const;
  const requests = [...petIds.flatMap(ofPet), ...categoryIds.map(ofCategory)].values();
  const look = async () => {
    for (const request of requests) await caller.call(request);
  };
  await Promise.all(Array.from({ length: LOOKS }, look));
  const url = `http://${publicAddress}`;
  const lists = await readLists(url, key);
  const feed = await readAll(url, key, '/events');
  return { pets: lists.pets, orders: lists.orders.map(toOrder), lists, feed };
}
