/** EventService: what has changed. */
import type { Event, EventServiceServer, WatchEventsResponse } from '../../gen/petstore/v1/events.ts';
import type { EventFeed } from '../events/feed.ts';
import { EVENT_TYPES, type EventType, type StoredEvent, toEventId } from '../model.ts';
import { resourceOf } from '../storage/events.ts';
import { inventoryMessage } from './inventory.ts';
import { DEFAULT_LIMIT } from './page-token.ts';
import { petMessage } from './pets.ts';
import { type Service, SharedMessages } from './service.ts';

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

  return {
    async listEvents({ after, types, limit = DEFAULT_LIMIT }) {
      const page = await feed.page(toEventId(after), known(types), limit);
      return { events: page.events.map(toMessage), nextAfter: page.next ?? 0n };
    },

    async *watchEvents({ after, types }, call) {
      const from = call.resumeAfter ?? after;
      const progress = feed.follow({
        after: from === undefined ? undefined : toEventId(from),
        types: known(types),
        onClose: (listener) => call.onClose(listener),
      });
      for await (const { events, upTo } of progress) {
        yield events.length === 0 ? { checkpoint: { id: upTo } } : new SharedMessages(events.map(toShared));
      }
    },
  };
}

/** Validation has refused what is no type. */
function known(types: readonly string[]): readonly EventType[] {
  return EVENT_TYPES.filter((type) => types.includes(type));
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
