/** What the walk does: every operation that changes something, a replay, pages of events, ten callers at once. */
import { randomUUID } from 'node:crypto';
import type { RestMakers } from '../shop/resources.ts';
import { PUBLIC, requestTo } from '../support/contract/resources.ts';
import type { Caller, WalkRequest } from './caller.ts';

export interface WalkOperation {
  readonly name: string;
  /** Makes what it needs. Resolves with the requests, which are sent at once. */
  prepare(caller: RestMakers & Pick<Caller, 'send'>, cursor: string): Promise<readonly WalkRequest[]>;
}

const CHANGES = PUBLIC.filter(({ isRead, routes }) => !isRead && routes.length > 0);

const EVERY = CHANGES.map(
  (operation): WalkOperation => ({
    name: `${operation.method} ${operation.template}`,
    prepare: async (caller) => [await requestTo(caller, operation)],
  }),
);

const CREATING = CHANGES.filter(({ takesIdempotencyKey }) => takesIdempotencyKey);
const REPLAYS = CREATING.map(
  (operation): WalkOperation => ({
    name: `a replay of ${operation.method} ${operation.template}`,
    async prepare(caller) {
      const request = { ...(await requestTo(caller, operation)), key: randomUUID() };
      await caller.send(request);
      return [request];
    },
  }),
);

type Asked = readonly [method: string, path: string, json?: object];

/** A request, of one caller or several. */
function asking(name: string, ask: (caller: Caller) => Promise<Asked>, callers = 1): WalkOperation {
  const prepare = async (caller: Caller) => {
    const [method, path, json] = await ask(caller);
    return Array<WalkRequest>(callers).fill({ method, path, json });
  };
  return { name, prepare };
}

/** What is the shop's own: an order that takes stock, its change and its end, and the race for the last units. */
const ORDERS = '/store/orders';
const placed = async (caller: Caller, stock: number) =>
  `${ORDERS}/${(await caller.order({ petId: await caller.pet({ stock }) })).id}`;
const STOCK: readonly WalkOperation[] = [
  asking('an order of a pet', async (caller) => {
    return ['POST', ORDERS, { petId: await caller.pet({ stock: 3 }), quantity: 3 }];
  }),
  asking('a refused order of a pet', async (caller) => ['POST', ORDERS, { petId: await caller.pet() }]),
  asking('a change of an order of a pet', async (caller) => ['PATCH', await placed(caller, 3), { quantity: 3 }]),
  asking('the cancellation of an order of a pet', async (caller) => ['DELETE', await placed(caller, 1)]),
  asking(
    'ten orders at once of a pet with three units',
    async (caller) => ['POST', ORDERS, { petId: await caller.pet({ stock: 3 }) }],
    10,
  ),
  asking('ten categories at once', async () => ['POST', '/categories', { name: 'Cats' }], 10),
];

const EVENTS: WalkOperation = {
  name: 'a page of events',
  async prepare(caller, cursor) {
    await caller.order({ petId: await caller.pet({ stock: 3 }) });
    return [{ method: 'GET', path: `/events?after=${cursor}&limit=3` }];
  },
};

/** They have the same answers whatever others do. */
export const WRITES: readonly WalkOperation[] = [...EVERY, ...REPLAYS, ...STOCK];

export const OPERATIONS: readonly WalkOperation[] = [...WRITES, EVENTS];
