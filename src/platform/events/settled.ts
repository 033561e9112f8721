/**
 * Reads events in order, and never one before another with a smaller id that is yet to come.
 *
 * On PostgreSQL a transaction takes the ids of its events before it commits. So 51 may be visible before 50, and 50 may
 * also never come, because it was rolled back. A reader that meets such a gap asks which transactions have locked the
 * table `events`: only these can still fill it, since a transaction locks the table before it takes an id, and unlocks
 * it after its events have become visible. When all of them have ended, the gap has been filled or never will be. A
 * long transaction that changes nothing of the shop, such as a backup's, is not among them and delays nobody.
 *
 * A page waits a little for the transactions before it ends at a gap. So it moves on without anybody else who reads.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { apiError } from '../errors.ts';
import { StoreUnavailable } from '../storage/store-errors.ts';
import type { Page } from '../tables/sort-order.ts';
import type { Reads } from '../tables/store.ts';
import { EVERYBODY, type EventId, type EventRequest, type SeenEvent, START } from './stored-event.ts';
import type { EVENT_TABLES } from './table.ts';

/** When the transactions are asked for again: after a tenth of the time that a gap has been open, within these. */
const RETRY_MS = { least: 10, most: 250 };
/** How long a caller waits to learn where the feed stands, and for the events behind a gap. */
const MAX_WAIT_MS = 5_000;
const PAGE_WAIT_MS = 1_000;
const HELD = 'a long transaction holds up the events';

/** `isHeld`: there are events behind it, which a gap holds back. */
type HeldPage = Page<SeenEvent> & { readonly isHeld: boolean };

export type EventReads = Reads<typeof EVENT_TABLES>['events'];

export class SettledEvents {
  readonly reads: EventReads;
  /** Every event up to here is visible, or will never be. */
  #settled = START;
  /** Transactions that may fill the gaps up to an id. */
  #suspects:
    | { readonly upTo: EventId; readonly transactions: ReadonlySet<string>; readonly sinceMs: number }
    | undefined;
  /** A question that has not been answered: all who have it share it. */
  #asking: Promise<void> | undefined;
  #askAgainMs = 0;

  constructor(reads: EventReads) {
    this.reads = reads;
  }

  /** How long to wait before it looks for a gap's end again; undefined when there is no gap that may be filled. */
  get waitMs(): number | undefined {
    return this.#suspects && Math.max(RETRY_MS.least, this.#askAgainMs - performance.now());
  }

  /** Events after an id, in order, up to the first gap that may still be filled. */
  async after(request: EventRequest): Promise<HeldPage> {
    const { after, owner } = request;
    await this.#clearSuspects();
    if (owner !== undefined) return this.#ofOwner(request);
    const settled = this.#settled; // before the read, which has seen all events up to here
    const page = await this.reads.after(request);
    const rows = upToGap(after, page.rows, settled);
    const last = rows.at(-1)?.id;
    // A page that begins further on says nothing of the ids between.
    if (last !== undefined && after <= settled) this.#settle(last);
    if (rows.length === page.rows.length) return { ...page, isHeld: false };
    const isKnown = this.#suspects !== undefined;
    if (!isKnown) await this.#findSuspects();
    return isKnown || this.#suspects !== undefined ? { rows, hasMore: false, isHeld: true } : this.after(request);
  }

  /** Those of an account and for all. It can't see gaps, so it has what is settled. Its end may be without a row. */
  async #ofOwner(request: EventRequest): Promise<HeldPage> {
    const { newest } = await this.reads.bounds();
    if (this.#settled < newest && this.#suspects === undefined) await this.#findSuspects();
    const settled = smaller(this.#settled, newest);
    const page = await this.reads.after(request);
    const rows = page.rows.filter(({ id }) => id <= settled);
    if (page.hasMore && rows.length === page.rows.length) return { ...page, isHeld: false };
    const end = { id: settled, type: '', timeMs: 0, owner: EVERYBODY };
    return { rows: settled > request.after ? [...rows, end] : rows, hasMore: false, isHeld: settled < newest };
  }

  /**
   * Like `after`, for an id that a caller names: unless `hasMore`, it has all that was visible when it was asked for.
   * Checks the id after the read: what is deleted meanwhile has been read.
   *
   * @throws StoreUnavailable when a transaction that changes the shop holds up the first event for too long.
   */
  async page(request: EventRequest): Promise<Page<SeenEvent>> {
    const deadlineMs = performance.now() + PAGE_WAIT_MS;
    let page = await this.checked(request);
    const newest = page.isHeld ? (await this.reads.bounds()).newest : START;
    while (page.isHeld && (page.rows.at(-1)?.id ?? request.after) < newest) {
      const isLate = performance.now() > deadlineMs;
      // 0 as the start of the next page would say that there is none.
      if (isLate && page.rows.length === 0 && request.after === START) throw new StoreUnavailable(HELD);
      if (isLate) return { rows: page.rows, hasMore: true };
      await delay(this.waitMs);
      page = await this.checked(request);
    }
    return page;
  }

  /** The same without a wait: it may end before what a gap holds back. */
  async checked(request: EventRequest): Promise<HeldPage> {
    const page = await this.after(request);
    if (request.owner !== undefined || !isWhole(request.after, page.rows)) await this.check(request.after);
    return page;
  }

  /** Throws EVENTS_EXPIRED unless every event after this id is kept, EVENT_NOT_REACHED if the feed is not there yet. */
  async check(after: EventId): Promise<void> {
    if (after === START) return;
    const { oldest, newest, isReached } = await this.reads.bounds(after);
    if (!isReached) throw apiError('EVENT_NOT_REACHED', { after, newest });
    if (after < oldest - 1n) throw apiError('EVENTS_EXPIRED', { after, oldest });
  }

  /**
   * The id up to which all events are visible: nobody who starts after it misses one.
   *
   * @throws StoreUnavailable when a transaction that changes the shop takes too long.
   */
  async head(): Promise<EventId> {
    const { newest } = await this.reads.bounds();
    const deadlineMs = performance.now() + MAX_WAIT_MS;
    while (this.#settled < newest) {
      await this.#clearSuspects();
      if (this.#suspects === undefined) await this.#findSuspects();
      if (this.#settled >= newest) break;
      if (performance.now() > deadlineMs) throw new StoreUnavailable(HELD);
      await delay(this.waitMs);
    }
    return smaller(this.#settled, newest);
  }

  /** Ids are taken in ascending order: who may fill a gap has taken its id before the newest event was visible. */
  async #findSuspects(): Promise<void> {
    const { newest: upTo } = await this.reads.bounds();
    const transactions = await this.reads.writers();
    if (transactions.size === 0) this.#settle(upTo);
    else this.#suspects = { upTo, transactions, sinceMs: performance.now() };
  }

  #clearSuspects(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<void> {
    const suspects = this.#suspects;
    if (suspects === undefined) return;
    const writers = await this.reads.writers();
    const now = performance.now();
    const pauseMs = Math.max(RETRY_MS.least, Math.min((now - suspects.sinceMs) / 10, RETRY_MS.most));
    this.#askAgainMs = now + pauseMs;
    // Others may have been found meanwhile.
    if (!suspects.transactions.isDisjointFrom(writers) || this.#suspects !== suspects) return;
    this.#settle(suspects.upTo);
    this.#suspects = undefined;
  }

  #settle(upTo: EventId): void {
    if (upTo > this.#settled) this.#settled = upTo;
  }
}

/**
 * Whether no id is missing behind `after`. Otherwise what followed it may have been deleted, or the history of the
 * database has changed. An empty page is not whole: the feed may have gone back.
 */
export function isWhole(after: EventId, rows: readonly SeenEvent[]): boolean {
  return rows.at(-1)?.id === after + BigInt(rows.length);
}

/** A fail-over may have lost settled events. Their ids are skipped, so that they stay settled. */
const smaller = (settled: EventId, newest: EventId): EventId => (settled < newest ? settled : newest);

/** The events before the first gap behind `settled`. */
function upToGap(after: EventId, events: readonly SeenEvent[], settled: EventId): readonly SeenEvent[] {
  let reached = after > settled ? after : settled;
  for (const [index, { id }] of events.entries()) {
    if (id > reached + 1n) return events.slice(0, index);
    if (id > reached) reached = id;
  }
  return events;
}
