/** The feed of events: pages of it (settled.ts says in which order), and streams (tail.ts). */
import { apiError } from '../errors.ts';
import { type EventId, START, type StoredEvent } from '../storage/model.ts';
import { type EventReads, SettledEvents } from './settled.ts';
import { type Follower, ofTypes, type Progress, Tail } from './tail.ts';

/** How many events are looked through for a page of certain types. */
const WINDOW = 500;

export class EventFeed {
  readonly #settled: SettledEvents;
  readonly tail: Tail;

  constructor(reads: EventReads, onFailure: (error: unknown) => void) {
    this.#settled = new SettledEvents(reads);
    this.tail = new Tail(this.#settled, (after, rows) => this.#read(after, rows), onFailure);
  }

  /**
   * At most `limit` events after an id, of these types, or all, and where the next page begins: undefined when there
   * are no more events yet. A page may have fewer events, or none, although there is a next one. Throws EVENTS_EXPIRED,
   * and EVENT_NOT_REACHED for an id that the feed has not reached.
   */
  async page(after: EventId, types: readonly string[], limit: number) {
    const rows = types.length === 0 ? limit + 1 : WINDOW;
    const events = await this.#read(after, rows);
    const found = ofTypes(events, types);
    if (found.length > limit) return { events: found.slice(0, limit), next: found[limit - 1]?.id };
    return { events: found, next: events.length < rows ? undefined : events.at(-1)?.id };
  }

  /** A stream. Throws like `page`. */
  async *follow(follower: Follower): AsyncGenerator<Progress, void> {
    if (follower.after !== undefined) await this.#check(follower.after);
    yield* this.tail.follow(follower);
  }

  /** Throws unless every event after this id is kept, and the feed has reached it. */
  async #check(after: EventId): Promise<void> {
    if (after === START) return;
    const { oldest, newest } = await this.#settled.bounds();
    if (after < oldest - 1n) throw apiError('EVENTS_EXPIRED', { after, oldest });
    if (after <= newest) return;
    throw apiError('EVENT_NOT_REACHED', { after, newest });
  }

  /** Checks after the read: what is deleted meanwhile has been read. */
  async #read(after: EventId, rows: number): Promise<readonly StoredEvent[]> {
    const events = await this.#settled.after(after, rows);
    if (events[0]?.id !== after + 1n) await this.#check(after);
    return events;
  }
}
