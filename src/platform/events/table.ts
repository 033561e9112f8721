/** The `events` table: what changed. Triggers write it (migrations/event-triggers.ts). */
import type { Knex } from 'knex';
import type { Engine, Runner } from '../storage/engine.ts';
import type { Migration } from '../storage/migrate.ts';
import { compile, param } from '../storage/statement.ts';
import { id, integer, longText, optional, table, text } from '../tables/fields.ts';
import { mayBe, type OwnerId } from '../tables/ids.ts';
import { fitting, PAGE_BYTES, pages } from '../tables/pages.ts';
import type { Page } from '../tables/sort-order.ts';
import { lookup, oldest, onlyRow } from '../tables/table.ts';
import * as events from './migrations/009-events.ts';
import { EVERYBODY, type EventId, type EventRequest, type SeenEvent, START, type StoredEvent } from './stored-event.ts';

const FIELDS = {
  id: id<EventId>('id'),
  type: text('type'),
  timeMs: integer('time_ms'),
  owner: id<OwnerId>('account_id'),
};
const stored = (name: string) => table<StoredEvent>(name, { ...FIELDS, row: longText('resource') });
const seen = (name: string) =>
  table<Omit<StoredEvent, 'row'> & { readonly bytes: number }>(name, { ...FIELDS, bytes: integer('bytes') });
const EVENTS = stored('events');

/** How many events are looked at for some of certain types. */
const WINDOW = 500;

const [OLDEST, NEWEST] = [optional(id<EventId>('oldest')), optional(id<EventId>('newest'))];

export function eventTable(engine: Engine) {
  const { knex, reader } = engine;
  // The rows themselves are not read: neither engine fetches a text for its length.
  const looked = [...seen('').columns.slice(0, -1), knex.raw('octet_length(resource) as bytes')];
  const pagesOf = (name: string, select: Parameters<typeof pages>[2]) => ({
    page: pages(engine, stored(name), select),
    look: pages(engine, seen(`seen_${name}`), (_, given) => select(looked, given)),
  });
  const all = pagesOf('events', (columns) => knex('events').select(columns));
  /** Two searches of the index of accounts, whose rows are merged: PostgreSQL does so where both say their order. */
  const visible = pagesOf('visible_events', (columns, given) => {
    const of = (account: Knex.Value, name: string) =>
      knex.from(knex('events').select(columns).where('account_id', account).orderBy('id').as(name));
    return knex.from(
      of(given('owner'), 'own')
        .unionAll(of(Number(EVERYBODY), 'common'))
        .as('events'),
    );
  });
  const pagesFor = (owner: OwnerId | undefined) => (owner === undefined ? all : visible);
  const { findAll } = lookup(engine, EVENTS);
  const newest = knex.raw('(select max(id) from events)');
  const at = param('at');
  const skipped = knex('event_histories').whereRaw('? > skipped_after and ? <= skipped_upto', [at, at]);
  // Two queries, since SQLite finds only one end of an index per query.
  const ends = 'select (select min(id) from events) as oldest, ? as newest, exists ? as skipped';
  const bounds = compile('events.bounds', knex.raw(ends, [newest, skipped]));
  const deleteOldest = oldest(engine, 'events', 'id', 'time_ms', newest);

  /** Reads only the rows that the page has: one of a rare type costs no more than one of all. */
  const pageOfTypes = async (request: EventRequest, types: readonly string[]): Promise<Page<SeenEvent>> => {
    const { after, limit, maxBytes = PAGE_BYTES, owner } = request;
    const { rows: seen, hasMore } = await pagesFor(owner).look({ after, limit: WINDOW }, {}, { owner });
    const wanted = seen.filter(({ type }) => types.includes(type));
    const sizes = wanted.slice(0, limit).map(({ bytes }) => bytes);
    const count = fitting(sizes, maxBytes);
    const found = count === 0 ? [] : await findAll(wanted.slice(0, count).map(({ id }) => id));
    if (found.length < count) return pageOfTypes(request, types); // some were deleted meanwhile: look again
    const rows = new Map(found.map((event) => [event.id, event]));
    const next = wanted[count];
    const looked = next === undefined ? seen : seen.slice(0, seen.indexOf(next));
    return { rows: looked.map((event) => rows.get(event.id) ?? event), hasMore: hasMore || next !== undefined };
  };

  return {
    reads: {
      /** Events after an id, in ascending order, as far as they are visible now. Few of them, where they are large. */
      after: ({ types = [], ...request }: EventRequest): Promise<Page<SeenEvent>> =>
        types.length > 0
          ? pageOfTypes(request, types)
          : pagesFor(request.owner).page(request, {}, { owner: request.owner }),
      /** The smallest and the greatest id that are visible now; 0 without events. Whether the feed has come to `at`. */
      async bounds(at = START) {
        const row = onlyRow(await reader.all(bounds, { at: mayBe(at) ? at : START }));
        const newest = NEWEST.read(row) ?? START;
        return { oldest: OLDEST.read(row) ?? START, newest, isReached: at <= newest && !row.skipped };
      },
      /** The transactions in progress that have written to the table: they may have taken ids that are not visible. */
      writers: () => engine.writersOf('events'),
    },
    writes: (tx: Runner) => ({
      /** The newest event stays. */
      deleteOldest: deleteOldest(tx),
    }),
  };
}

export const EVENT_TABLES = { events: eventTable };

/** 009-events.ts: databases from before the first release have it by this name. */
export const EVENT_MIGRATIONS: readonly Migration[] = [{ name: '009-event-owners', up: events.up, isAdditive: true }];
