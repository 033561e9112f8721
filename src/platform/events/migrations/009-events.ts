/**
 * The feed of events, which the triggers of event-triggers.ts write, and its histories.
 *
 * A fail-over may lose writes, and a backup lacks some: readers may have seen their events. So where a history begins
 * ids are skipped, and no event gets one again.
 *
 * On PostgreSQL each new connection calls `adopt_event_history` before it writes. A history's name is that of the
 * cluster, of its timeline, which a promotion or a recovery changes, of the database, which a copy has not, and of the
 * table, which a restored dump makes anew. The function has its owner's rights: the server's user has none on the
 * sequence.
 *
 * Ids go on behind the clock, at ten thousand a second: a copy can't say how far the lost history had come. What is
 * skipped begins at the first gap in the last minute of the feed: a smaller id may commit after a greater one, and be
 * lost. The events behind that get ids behind what is skipped, so that a new reader has them.
 */
import type { Knex } from 'knex';

/** How many ids are skipped at the least, and the ids of a second. */
const [SKIPPED, IDS_PER_SECOND] = [1_000_000_000, 10_000];

/** Begins a new history of a SQLite file, whose events have no gaps. A restore runs it. */
export const SKIP_ON_SQLITE = [
  `insert into event_histories (name, skipped_after, skipped_upto)
   select 'restored', newest, max(newest, known, cast(unixepoch('subsec') * ${IDS_PER_SECOND} as integer)) + ${SKIPPED}
   from (select coalesce((select max(id) from events), 0) as newest,
     coalesce((select max(skipped_upto) from event_histories), 0) as known)`,
  "delete from sqlite_sequence where name = 'events'",
  `insert into sqlite_sequence (name, seq) select 'events', max(skipped_upto) + 1 from event_histories`,
];

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('events', (table) => {
    // Never reused (AUTOINCREMENT), so an id that a reader has seen stays that event's.
    table.bigIncrements('id');
    table.text('type').notNullable();
    table.bigInteger('time_ms').notNullable();
    table.text('resource').notNullable(); // the row, as a JSON object
    // The account that it belongs to, or 0: it is for all. The index is in `recordOwnedEvents`.
    table.bigInteger('account_id').notNullable().defaultTo(0);
  });
  await knex.schema.createTable('event_histories', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    // No event has an id above the first, up to the second.
    table.bigInteger('skipped_after').notNullable();
    table.bigInteger('skipped_upto').notNullable();
  });
  if (knex.client.config.client === 'sqlite3') return;
  const { rows } = await knex.raw<{ rows: { name: string }[] }>('select quote_ident(current_schema()) as name');
  await knex.raw(`
    create function adopt_event_history() returns text language plpgsql security definer
    set search_path = ${rows[0]?.name}, pg_temp set lock_timeout = '4s' as $$
    declare
      current text;
      newest record;
      start bigint := 0;
      upto bigint := 0;
    begin
      if pg_is_in_recovery() then
        raise exception 'it is a standby, which takes no writes' using errcode = 'cannot_connect_now';
      end if;
      current := concat_ws('/', (select system_identifier from pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (select oid from pg_database where datname = current_database()), 'events'::regclass::oid);
      if current is distinct from (select name from event_histories order by id desc limit 1) then
        lock table events in share row exclusive mode; -- waits for those who have taken ids
        if current is distinct from (select name from event_histories order by id desc limit 1) then
          if exists (select from event_histories) then -- it is not the first one of all
            select id, time_ms into newest from events order by id desc limit 1;
            select coalesce(min(previous), newest.id, 0) into start from (
              select id, (select max(id) from events as before where before.id < events.id) as previous from events
              where id > newest.id - 10000 and time_ms > newest.time_ms - 60000
            ) as recent where previous < id - 1;
            upto := ${SKIPPED} + greatest(newest.id, (extract(epoch from now()) * ${IDS_PER_SECOND})::bigint,
              (select max(skipped_upto) from event_histories));
            update events set id = id - start + upto + 1 where id > start;
            perform setval(pg_get_serial_sequence('events', 'id'), greatest(upto + 1, (select max(id) from events)));
          end if;
          -- The commit waits for no standby: a new primary may have none, and reads need connections.
          perform set_config('synchronous_commit', 'local', true);
          insert into event_histories (name, skipped_after, skipped_upto) values (current, start, upto);
        end if;
      end if;
      return set_config('events.history', current, false);
    end $$`);
}
