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

const EVERY: readonly WalkOperation[] = CHANGES.map((operation) => ({
  name: `${operation.method} ${operation.template}`,
  prepare: async (caller) => [await requestTo(caller, operation)],
}));

const REPLAYS: readonly WalkOperation[] = CHANGES.filter(({ takesIdempotencyKey }) => takesIdempotencyKey).map(
  (operation) => ({
    name: `a replay of ${operation.method} ${operation.template}`,
    async prepare(caller) {
      const request = { ...(await requestTo(caller, operation)), key: randomUUID() };
      await caller.send(request);
      return [request];
    },
  }),
);

/** What is the shop's own: an order that takes stock, its change and its end, and the race for the last units. */
const STOCK: readonly WalkOperation[] = [
  {
    name: 'an order of a pet',
    prepare: async (caller) => [
      { method: 'POST', path: '/store/orders', json: { petId: await caller.pet({ stock: 3 }), quantity: 3 } },
    ],
  },
  {
    name: 'a refused order of a pet',
    prepare: async (caller) => [{ method: 'POST', path: '/store/orders', json: { petId: await caller.pet() } }],
  },
  {
    name: 'a change of an order of a pet',
    async prepare(caller) {
      const { id } = await caller.order({ petId: await caller.pet({ stock: 3 }) });
      return [{ method: 'PATCH', path: `/store/orders/${id}`, json: { quantity: 3 } }];
    },
  },
  {
    name: 'the cancellation of an order of a pet',
    async prepare(caller) {
      const { id } = await caller.order({ petId: await caller.pet({ stock: 1 }) });
      return [{ method: 'DELETE', path: `/store/orders/${id}` }];
    },
  },
  {
    name: 'ten orders at once of a pet with three units',
    async prepare(caller) {
      const petId = await caller.pet({ stock: 3 });
      return Array.from({ length: 10 }, () => ({ method: 'POST', path: '/store/orders', json: { petId } }));
    },
  },
  {
    name: 'ten categories at once',
    prepare: async () =>
      Array.from({ length: 10 }, () => ({ method: 'POST', path: '/categories', json: { name: 'Cats' } })),
  },
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
