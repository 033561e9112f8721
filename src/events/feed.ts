/** The feed of events: pages of it (settled.ts says in which order), and streams (tail.ts). */
import { apiError, invalidArgument } from '../errors.ts';
import { type EventId, type StoredEvent, toEventId } from '../storage/model.ts';
import { type EventReads, SettledEvents } from './settled.ts';
import { type Follower, ofTypes, type Progress, Tail } from './tail.ts';

/** How many events are looked through for a page of certain types. */
const WINDOW = 500;
const START = toEventId(0n);

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Where the next page begins; undefined when there are no more events yet. */
  readonly next: EventId | undefined;
}

export interface EventFeed {
  /**
   * At most `limit` events after an id, of these types, or all. A page may have fewer events, or none, although there
   * is a next one. Throws EVENTS_EXPIRED, and INVALID_ARGUMENT for an id that the feed has not reached.
   */
  page(after: EventId, types: readonly string[], limit: number): Promise<EventPage>;
  /** A stream. Throws like `page`. */
  follow(follower: Follower): AsyncGenerator<Progress, void>;
  /** Tells that this server has written. */
  noteWrite(): void;
  /** How many events have been sent, once for each stream. */
  readonly sent: number;
  /** For how long the streams have not moved on, although there may be more events. */
  readonly stalledMs: number;
}

export function createEventFeed(reads: EventReads, onFailure: (error: unknown) => void): EventFeed {
  const settled = new SettledEvents(reads);

  /** Throws unless every event after this id is kept, and the feed has reached it. */
  const check = async (after: EventId): Promise<void> => {
    if (after === START) return;
    const { oldest, newest } = await reads.bounds();
    if (after < oldest - 1n) throw apiError('EVENTS_EXPIRED', { after, oldest });
    if (after <= newest) return;
    const description = `${after} has not been reached: the newest event is ${newest}`;
    throw invalidArgument([{ path: 'after', name: 'after', description }]);
  };

  /** Checks after the read: what is deleted meanwhile has been read. */
  const read = async (after: EventId, rows: number): Promise<readonly StoredEvent[]> => {
    const events = await settled.after(after, rows);
    if (events[0]?.id !== after + 1n) await check(after);
    return events;
  };

  const tail = new Tail(settled, read, onFailure);
  return {
    async page(after, types, limit) {
      const rows = types.length === 0 ? limit + 1 : WINDOW;
      const events = await read(after, rows);
      const found = ofTypes(events, types);
      if (found.length > limit) return { events: found.slice(0, limit), next: found[limit - 1]?.id };
      return { events: found, next: events.length < rows ? undefined : events.at(-1)?.id };
    },
    async *follow(follower) {
      if (follower.after !== undefined) await check(follower.after);
      yield* tail.follow(follower);
    },
    noteWrite: () => tail.noteWrite(),
    get sent() {
      return tail.sent;
    },
    get stalledMs() {
      return tail.stalledMs;
    },
  };
}
