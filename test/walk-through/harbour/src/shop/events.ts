/** EventService: what has changed. */
import type { Event, EventServiceServer, WatchEventsResponse } from '../../gen/harbour/v1/events.ts';
import type { EventFeed, Progress } from '../platform/events/feed.ts';
import { DEFAULT_LIMIT } from '../platform/rpc/page-token.ts';
import { type Service, SharedMessages } from '../platform/rpc/service.ts';
import type { Row } from '../platform/storage/fields.ts';
import { type StoredEvent, toEventId, toTimestamp } from '../platform/storage/model.ts';
import { boatMessage } from './boats/service.ts';
import { BOATS } from './boats/table.ts';
import { RENTALS } from './rentals/table.ts';

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

function toMessage({ id, type, timeMs, row }: StoredEvent): Event {
  const event = { id, type, time: toTimestamp(timeMs) };
  const columns: Row = JSON.parse(row);
  return type.startsWith('boat.')
    ? { ...event, boat: boatMessage(BOATS.toRecord(columns)) }
    : { ...event, rental: RENTALS.toRecord(columns) };
}
