/** EventService: what has changed. */
import type { Event, EventServiceServer, WatchEventsResponse } from '../../gen/petstore/v1/events.ts';
import type { EventFeed } from '../events/feed.ts';
import type { Progress } from '../events/tail.ts';
import { DEFAULT_LIMIT } from '../rpc/page-token.ts';
import { type Service, SharedMessages } from '../rpc/service.ts';
import type { Row } from '../storage/fields.ts';
import { type StoredEvent, toEventId } from '../storage/model.ts';
import { CATEGORIES } from './category-table.ts';
import { inventoryMessage } from './inventory.ts';
import type { Category, Order, Pet } from './model.ts';
import { ORDERS } from './order-table.ts';
import { PETS } from './pet-table.ts';
import { petMessage } from './pets.ts';

/** What the service uses of a call. */
export interface WatchCall {
  onClose(listener: () => void): void;
  /** Where the caller goes on, if a header tells it. */
  readonly resumeAfter?: bigint;
}

export function eventService(feed: EventFeed): Service<EventServiceServer, WatchCall> {
  /** Streams that send the same event send the same message, which is encoded once. */
  const messages = new WeakMap<StoredEvent, WatchEventsResponse>();

  const toShared = (event: StoredEvent): WatchEventsResponse => {
    const message = messages.get(event) ?? { event: toMessage(event) };
    messages.set(event, message);
    return message;
  };

  const toMessages = (progress: Progress) => {
    const { events, upTo } = progress;
    progress.events = [];
    return events.length === 0 ? { checkpoint: { id: upTo } } : new SharedMessages(events.map(toShared));
  };

  return {
    async listEvents({ after, types, limit = DEFAULT_LIMIT }) {
      const page = await feed.page(toEventId(after), types, limit);
      return { events: page.events.map(toMessage), nextAfter: page.next ?? 0n };
    },

    async *watchEvents({ after, types }, call) {
      const from = call.resumeAfter ?? after;
      const progress = feed.follow({
        after: from === undefined ? undefined : toEventId(from),
        types,
        onClose: (listener) => call.onClose(listener),
      });
      for await (const next of progress) yield toMessages(next);
    },
  };
}

function toMessage(event: StoredEvent): Event {
  const { id, type, timeMs } = event;
  const time = { seconds: BigInt(Math.floor(timeMs / 1_000)), nanos: (timeMs % 1_000) * 1_000_000 };
  const resource = resourceOf(event);
  switch (resource.kind) {
    case 'pet':
      return { id, type, time, pet: petMessage(resource.pet), inventory: inventoryMessage(resource.pet) };
    case 'category':
      return { id, type, time, category: resource.category };
    case 'order':
      return { id, type, time, order: resource.order };
  }
}

/** What an event is about, after the change or before the deletion. */
type Resource =
  | { readonly kind: 'pet'; readonly pet: Pet }
  | { readonly kind: 'category'; readonly category: Category }
  | { readonly kind: 'order'; readonly order: Order };

function resourceOf({ type, row }: StoredEvent): Resource {
  const columns: Row = JSON.parse(row);
  const [kind] = type.split('.');
  if (kind === 'pet') return { kind, pet: PETS.toRecord(columns) };
  if (kind === 'order') return { kind, order: ORDERS.toRecord(columns) };
  return { kind: 'category', category: CATEGORIES.toRecord(columns) };
}
