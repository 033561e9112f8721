/** The `events` table: what changed. Triggers write it (migrations/event-triggers.ts). */
import type { Engine, Runner } from '../storage/engine.ts';
import { id, integer, longText, optional, text } from '../storage/fields.ts';
import type { Migration } from '../storage/migrate.ts';
import type { Page } from '../storage/model.ts';
import { fitting, PAGE_BYTES, pages } from '../storage/pages.ts';
import { compile, param } from '../storage/statement.ts';
import { lookup, oldest, onlyRow, table } from '../storage/table.ts';
import * as feed from './migrations/006-event-table.ts';
import * as histories from './migrations/008-event-histories.ts';
import { type EventId, type EventRequest, type SeenEvent, START, type StoredEvent } from './stored-event.ts';

const FIELDS = {
  id: id<EventId>('id'),
  type: text('type'),
  timeMs: integer('time_ms'),
};
const EVENTS = table<StoredEvent>('events', { ...FIELDS, row: longText('resource') });
const SEEN = table<Omit<StoredEvent, 'row'> & { readonly bytes: number }>('seen_events', {
  ...FIELDS,
  bytes: integer('bytes'),
});

/** How many events are looked at for some of certain types. */
const WINDOW = 500;

const [OLDEST, NEWEST] = [optional(id<EventId>('oldest')), optional(id<EventId>('newest'))];

export function eventTable(engine: Engine) {
  const { knex, reader } = engine;
  const page = pages(engine, EVENTS, (columns) => knex('events').select(columns));
  const { findAll } = lookup(engine, EVENTS);
  const newest = knex.raw('(select max(id) from events)');
  const at = param('at');
  const skipped = knex('event_histories').whereRaw('? > skipped_after and ? <= skipped_upto', [at, at]);
  // Two queries, since SQLite finds only one end of an index per query.
  const ends = 'select (select min(id) from events) as oldest, ? as newest, exists ? as skipped';
  const bounds = compile('events.bounds', knex.raw(ends, [newest, skipped]));
  // The rows themselves are not read: neither engine fetches a text for its length.
  const size = knex.raw('octet_length(resource) as bytes');
  const look = pages(engine, SEEN, () => knex('events').select('id', 'type', 'time_ms', size));
  const deleteOldest = oldest(engine, 'events', 'id', 'time_ms', newest);

  /** Reads only the rows that the page has: one of a rare type costs no more than one of all. */
  const pageOfTypes = async (request: EventRequest, types: readonly string[]): Promise<Page<SeenEvent>> => {
    const { after, limit, maxBytes = PAGE_BYTES } = request;
    const { rows: seen, hasMore } = await look({ after, limit: WINDOW });
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
        types.length === 0 ? page(request) : pageOfTypes(request, types),
      /** The smallest and the greatest id that are visible now; 0 without events. Whether the id `at` was skipped. */
      async bounds(at = START) {
        const row = onlyRow(await reader.all(bounds, { at }));
        const isSkipped = Boolean(row.skipped);
        return { oldest: OLDEST.read(row) ?? START, newest: NEWEST.read(row) ?? START, isSkipped };
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

export const EVENT_MIGRATIONS: readonly Migration[] = [
  { name: '006-event-table', up: feed.up, isAdditive: true },
  { name: '008-event-histories', up: histories.up, isAdditive: true },
];
