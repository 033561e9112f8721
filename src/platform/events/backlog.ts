/**
 * Pages of events for streams that are behind (feed.ts). They may have all that is kept to read, so two turns pace
 * them. An account has a page each `ACCOUNT_MS` for all of its streams, and the table is read for one account at a
 * time, with a pause. Streams at the same place, of one account where rows have owners, share a page and its messages.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { OwnerId } from '../tables/ids.ts';
import type { Page } from '../tables/sort-order.ts';
import type { SettledEvents } from './settled.ts';
import type { EventRequest, SeenEvent } from './stored-event.ts';

/** The time from one page of an account to its next. */
const ACCOUNT_MS = 20;
/** The pause after each read. */
const PAUSE_MS = 8;
/** For how long a page is kept for others: the streams of an account come to it within some turns. */
const SHARED_MS = 1_000;

/** Returns what gives an account the events that it asks for, when it is its turn; none once its stream ends. */
export function createBacklog(events: SettledEvents) {
  const pages = new Map<string, Promise<Page<SeenEvent>>>();
  /** Resolves when the table may be read again. */
  let nextRead: Promise<unknown> = Promise.resolve();
  /** Resolves when the account may have another page. */
  const accounts = new Map<OwnerId, Promise<unknown>>();

  const shared = (request: EventRequest): Promise<Page<SeenEvent>> => {
    const name = `${request.after} ${request.types} ${request.owner}`;
    const known = pages.get(name);
    if (known !== undefined) return known;
    const page = nextRead.then(() => events.checked(request));
    const pause = () => delay(PAUSE_MS);
    nextRead = page.then(pause, pause);
    pages.set(name, page);
    const forget = () => pages.delete(name);
    // An empty one waits for others to commit: the next read may have more.
    void page.then(({ rows }) => (rows.length > 0 ? setTimeout(forget, SHARED_MS).unref() : forget()), forget);
    return page;
  };

  return (account: OwnerId, request: EventRequest, isClosed: () => boolean): Promise<Page<SeenEvent> | undefined> => {
    const turn = accounts.get(account) ?? Promise.resolve();
    const page = turn.then(() => (isClosed() ? undefined : shared(request)));
    const pause = () => delay(ACCOUNT_MS);
    const next = page.then((read) => read && pause(), pause);
    accounts.set(account, next);
    void next.then(() => accounts.get(account) === next && accounts.delete(account));
    return page;
  };
}
