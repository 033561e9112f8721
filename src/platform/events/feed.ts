/**
 * The feed of events: pages of it, and streams (settled.ts says in which order).
 *
 * While there is a stream, one loop reads the newest events for all of them: after each write of this server, and every
 * `POLL_MS` for the writes of others. A stream that is behind reads pages (backlog.ts) until it has caught up.
 *
 * Failure: while the database is away nothing is read, which is reported once. The streams stay open with their
 * heartbeats, and go on when it is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { HEARTBEAT_MS } from '../config/times.ts';
import type { Call } from '../rpc/chain.ts';
import { StoreUnavailable } from '../storage/store-errors.ts';
import type { Owner, OwnerId } from '../tables/ids.ts';
import type { Page } from '../tables/sort-order.ts';
import { createBacklog } from './backlog.ts';
import { type EventReads, isWhole, SettledEvents } from './settled.ts';
import { EVERYBODY, type EventId, isRead, type SeenEvent, type StoredEvent } from './stored-event.ts';

const POLL_MS = 100;
/** The shortest time from one read to the next: what is written meanwhile is sent together. */
const GATHER_MS = 10;
/** The bounds of a batch: what a stream sends at once, and holds while nobody reads it. The largest event has 12 KB. */
const MAX_ROWS = 100;
const MAX_BATCH_BYTES = 17_408;
/** How long a stream that is behind waits when the database is away. */
const RETRY_MS = 500;
/**
 * How many batches are kept for streams that are a little behind. A burst of the largest events has one in each, and
 * one account may write 1,000 of them at once: the streams of all others would have to read them as pages.
 */
const MAX_BATCHES = 1_000;
/** For how long. A thousand of the largest take some 60 MB, with what is made of them for streams. */
const KEPT_MS = 5_000;

/** The events that an account may see, of these types, or all, that have been read. */
function visible(events: readonly SeenEvent[], account: OwnerId, types: readonly string[]): readonly StoredEvent[] {
  const isFor = ({ owner, type }: StoredEvent) =>
    (owner === EVERYBODY || owner === account) && (types.length === 0 || types.includes(type));
  return events.filter(isRead).filter(isFor);
}

/** Consecutive events, shared by all streams that have come as far. */
interface Batch {
  /** The events follow this id. */
  readonly after: EventId;
  readonly events: readonly StoredEvent[];
  readonly readAtMs: number;
}

/** What the feed uses of a call that follows it. */
export type Following = Owner & Pick<Call, 'onClose'>;

/** What a stream has to send next: events, or a checkpoint when there are none. */
export interface Progress {
  /** Streams share the objects. Who has encoded them takes them away: an unread stream then holds their bytes alone. */
  events: readonly StoredEvent[];
  /** Everything up to here has been sent then. */
  readonly upTo: EventId;
}

export class EventFeed {
  readonly #events: SettledEvents;
  readonly #pageBehind: ReturnType<typeof createBacklog>;
  /** Whose events pages are for, which pass over those of others by an index. Otherwise accounts share them. */
  readonly #ownerOf: (account: OwnerId) => OwnerId | undefined;
  readonly #onFailure: (error: unknown) => void;
  /** Wakes each stream that waits for events. */
  readonly #streams = new Set<() => void>();
  /** Where the loop began; undefined while there is no loop. */
  #beginning: Promise<EventId> | undefined;
  /** How far the loop has read; undefined while there is none. */
  #last: EventId | undefined;
  /** The newest events that it has read, in order. */
  #batches: Batch[] = [];
  /** Resolves when this server has written since the last read, or a stream has ended. */
  #news = Promise.withResolvers<void>();
  /** The last read has failed: an hour without the database is one line in the log. */
  #isFailing = false;
  /** When the loop last read an event, or found that there is no other. */
  #readAtMs = 0;

  constructor(reads: EventReads, onFailure: (error: unknown) => void, hasOwners = false) {
    this.#events = new SettledEvents(reads);
    this.#pageBehind = createBacklog(this.#events);
    this.#ownerOf = (account) => (hasOwners ? account : undefined);
    this.#onFailure = onFailure;
  }

  /** For how long the streams have not moved on, although there may be more events. */
  get stalledMs(): number {
    return this.#last === undefined ? 0 : performance.now() - this.#readAtMs;
  }

  /** Tells that this server has written. */
  noteWrite(): void {
    this.#news.resolve();
  }

  /**
   * At most `limit` events after an id that the caller may see, of these types, or all, and where the next page begins,
   * if there are more: also of a page with few events, or none. Throws like `SettledEvents.check`.
   */
  async page({ caller: { accountId } }: Owner, after: EventId, types: readonly string[], limit: number) {
    const { rows, hasMore } = await this.#events.page({ after, limit, types, owner: this.#ownerOf(accountId) });
    return { events: visible(rows, accountId, types), next: hasMore ? (rows.at(-1)?.id ?? after) : undefined };
  }

  /** First a checkpoint, then events, or a checkpoint when none come. By default it begins now. Throws like `page`. */
  async *follow(call: Following, after: EventId | undefined, types: readonly string[]): AsyncGenerator<Progress, void> {
    if (after !== undefined) await this.#events.check(after);
    let [isClosed, woken] = [false, Promise.withResolvers<void>()];
    const wake = () => woken.resolve();
    call.onClose(() => {
      isClosed = true;
      wake();
    });
    const next = this.#reader(call.caller.accountId, types, () => isClosed);
    this.#streams.add(wake);
    try {
      this.#beginning ??= this.#begin();
      const beginning = this.#beginning;
      const head = await beginning;
      let progress: Progress = { events: [], upTo: after ?? this.#last ?? head };
      let heartbeatMs = 0; // the first checkpoint comes at once
      while (!isClosed) {
        if (this.#beginning !== beginning) throw new StoreUnavailable('the feed has gone back');
        if (progress.events.length > 0 || performance.now() >= heartbeatMs) {
          yield progress;
          heartbeatMs = performance.now() + HEARTBEAT_MS;
        } else if (!this.#isBehind(progress.upTo)) {
          woken = Promise.withResolvers();
          await before(heartbeatMs, woken.promise);
        }
        progress = await next(progress.upTo, heartbeatMs);
      }
    } finally {
      this.#streams.delete(wake);
      this.#news.resolve();
    }
  }

  /**
   * Returns what finds the events after an id for a stream: those that are kept, or a page; none if it takes too long.
   * The stream itself holds no batch, which would stay in memory while nobody reads.
   */
  #reader(account: OwnerId, types: readonly string[], isClosed: () => boolean) {
    const wanted = { types, owner: this.#ownerOf(account), limit: MAX_ROWS, maxBytes: MAX_BATCH_BYTES };
    let reading: Promise<Page<SeenEvent> | undefined> | undefined;
    return async (after: EventId, untilMs: number): Promise<Progress> => {
      let events: readonly SeenEvent[] | undefined = this.#kept(after)?.events;
      if (events === undefined && this.#isBehind(after)) {
        reading ??= this.#pageBehind(account, { ...wanted, after }, isClosed)
          .catch(waitWhileAway)
          .finally(() => (reading = undefined));
        events = (await before(untilMs, reading))?.rows;
      }
      return { events: visible(events ?? [], account, types), upTo: events?.at(-1)?.id ?? after };
    };
  }

  /** Finds out where the feed stands, and starts the loop there. */
  async #begin(): Promise<EventId> {
    const head = await this.#events.head().catch((error: unknown) => {
      this.#beginning = undefined;
      throw error;
    });
    void this.#run(head).catch(this.#onFailure);
    return head;
  }

  async #run(head: EventId): Promise<void> {
    let last = head;
    this.#readAtMs = performance.now();
    this.#last = last;
    while (this.#streams.size > 0) {
      const beganMs = performance.now();
      this.#news = Promise.withResolvers();
      const page = await this.#read(last);
      if (page === undefined) break;
      const events = page.rows.filter(isRead);
      const isFresh = ({ readAtMs }: Batch) => readAtMs >= beganMs - KEPT_MS;
      this.#batches = [...this.#batches.filter(isFresh), ...batchesOf(last, events)].slice(-MAX_BATCHES);
      last = events.at(-1)?.id ?? last;
      this.#last = last;
      if (events.length > 0) this.#wake();
      if (!page.hasMore) await this.#pause(beganMs);
    }
    this.#beginning = undefined;
    this.#last = undefined;
    this.#batches = [];
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#streams) wake();
  }

  /** Undefined when the feed has gone back: the streams end, and their readers learn it when they go on. */
  async #read(after: EventId): Promise<Page<SeenEvent> | undefined> {
    try {
      const page = await this.#events.after({ after, limit: MAX_ROWS });
      if (!isWhole(after, page.rows) && !(await this.#events.reads.bounds(after)).isReached) return undefined;
      if (page.rows.length > 0 || this.#events.waitMs === undefined) this.#readAtMs = performance.now();
      this.#isFailing = false;
      return page;
    } catch (error) {
      if (!this.#isFailing) this.#onFailure(error);
      this.#isFailing = true;
      return { rows: [], hasMore: false };
    }
  }

  async #pause(beganMs: number): Promise<void> {
    const { waitMs } = this.#events;
    if (waitMs === undefined) await before(performance.now() + POLL_MS, this.#news.promise);
    await delay(Math.max(waitMs ?? 0, beganMs + GATHER_MS - performance.now()));
  }

  /** Whether the loop has read more than this. */
  #isBehind(after: EventId): boolean {
    return this.#last !== undefined && after < this.#last;
  }

  /** The batch after an id, if both are kept: a stream ahead of the loop may have seen an id of another history. */
  #kept(after: EventId): Batch | undefined {
    const batch = this.#isBehind(after) ? this.#batches.findLast((one) => one.after <= after) : undefined;
    if (batch === undefined || batch.after === after) return batch;
    const index = batch.events.findIndex(({ id }) => id === after);
    return index === -1 ? undefined : { ...batch, after, events: batch.events.slice(index + 1) };
  }
}

async function waitWhileAway(error: unknown): Promise<undefined> {
  if (!(error instanceof StoreUnavailable)) throw error;
  await delay(RETRY_MS);
}

/** The result of the work; undefined when there is none at this time. */
async function before<T>(timeMs: number, work: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), timeMs - performance.now());
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Cuts events into batches of at most the bounded size, or of one event. */
function* batchesOf(after: EventId, events: readonly StoredEvent[]): Generator<Batch> {
  const readAtMs = performance.now();
  let [previous, batch, bytes]: [EventId, StoredEvent[], number] = [after, [], 0];
  for (const event of events) {
    const [last, size] = [batch.at(-1), Buffer.byteLength(event.row)];
    if (last !== undefined && bytes + size > MAX_BATCH_BYTES) {
      yield { after: previous, events: batch, readAtMs };
      [previous, batch, bytes] = [last.id, [], 0];
    }
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) yield { after: previous, events: batch, readAtMs };
}
