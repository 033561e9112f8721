/** Reads the final state: each object by itself, as calls of the history, and then all lists, page by page. */
import { RestClient } from '../rest-client.ts';
import type { OpenAccount } from './accounts.ts';
import type { Recorder } from './clients.ts';
import type { Deployment } from './deployment.ts';
import type { Order, Pet } from './history.ts';
import { toOrder } from './rest-calls.ts';
import type { Workload } from './workload.ts';

/** The number of concurrent reads. */
const LOOKS = 16;

export async function lookAtAll(
  { publicAddress }: Deployment,
  { name, key }: OpenAccount,
  recorder: Recorder,
  { petIds, categoryIds }: Workload,
): Promise<{ pets: Pet[]; orders: Order[] }> {
  const caller = recorder.caller('REST', name, key);
  const ofPet = (petId: number) =>
    (['getPet', 'getInventory', 'listOrders'] as const).map((what) => ({ do: what, petId }));
  const ofCategory = (categoryId: number) => ({ do: 'getCategory', categoryId }) as const;
  const requests = [...petIds.flatMap(ofPet), ...categoryIds.map(ofCategory)].values();
  const look = async () => {
    for (const request of requests) await caller.call(request);
  };
  await Promise.all(Array.from({ length: LOOKS }, look));
  const rest = new RestClient(`http://${publicAddress}`, key);
  const [pets, orders] = await Promise.all([walk(rest, '/pets'), walk(rest, '/store/orders')]);
  return { pets, orders: orders.map(toOrder) };
}

/** All rows of a list. */
// biome-ignore lint/suspicious/noExplicitAny: the rows of whatever list it is
async function walk(rest: RestClient, path: string): Promise<any[]> {
  const rows = [];
  for (let next: string | undefined = `${path}?limit=100`; next !== undefined; ) {
    const { status, headers, body, text } = await rest.get(next);
    if (status !== 200) throw new Error(`GET ${next} answered ${status}: ${text}`);
    rows.push(...body);
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  return rows;
}
