/** The `events` table: what changed. Triggers write it (migrations/event-triggers.ts). */
import type { Engine, Runner } from './engine.ts';
import { bigInteger, integer, optional, text } from './fields.ts';
import { type EventId, START, type StoredEvent } from './model.ts';
import { compile } from './statement.ts';
import { oldest, onlyRow, pages, table } from './table.ts';

const EVENTS = table<StoredEvent>('events', {
  id: bigInteger<EventId>('id'),
  type: text('type'),
  timeMs: integer('time_ms'),
  row: text('resource'),
});

const [OLDEST, NEWEST] = [optional(bigInteger<EventId>('oldest')), optional(bigInteger<EventId>('newest'))];

export function eventTable(engine: Engine) {
  const { knex, reader } = engine;
  const page = pages(engine, EVENTS, () => knex('events').select(EVENTS.columns));
  const newest = knex.raw('(select max(id) from events)');
  // Two queries, since SQLite finds only one end of an index per query.
  const ends = knex.raw('select (select min(id) from events) as oldest, ? as newest', [newest]);
  const bounds = compile('events.bounds', ends);
  const deleteOldest = oldest(engine, 'events', 'id', 'time_ms', newest);
  return {
    reads: {
      /** At most `rows` events after an id, in ascending order, as far as they are visible now. */
      after: async (after: EventId, rows: number) => (await page({ after, limit: rows })).rows,
      /** The smallest and the greatest id that are visible now; 0 without events. */
      async bounds() {
        const row = onlyRow(await reader.all(bounds, {}));
        return { oldest: OLDEST.read(row) ?? START, newest: NEWEST.read(row) ?? START };
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
