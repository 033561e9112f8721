/**
 * The histories of the feed, and the ids that were skipped where one began: after a fail-over, which may have lost
 * writes, or a restored backup. Readers may have seen such ids, so that no event gets one again.
 *
 * On PostgreSQL `adopt_event_history` is called on each new connection, before it writes: it finds out which history
 * the database has, and begins a new one if that is not the last. A name is that of the cluster, of its timeline, which
 * each promotion and each recovery to a point in time changes, of the database, which a copy has not, and of the table,
 * which a restored dump makes anew. The function has its owner's rights: the server's user has none on the sequence.
 *
 * Ids go on behind the clock, at ten thousand a second: the copy itself can't say how far a lost history had come, and
 * one backup may be restored twice.
 *
 * Lost writes are those that committed last, and a smaller id may commit after a greater one: so what is skipped begins
 * at the first gap within the last minute of the feed, if there is one. The events behind it get ids behind what is
 * skipped, so that a new reader has them.
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
      known bigint;
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
          select max(skipped_upto) into known from event_histories;
          if known is not null then -- it is not the first one of all
            select id, time_ms into newest from events order by id desc limit 1;
            select coalesce(min(previous), newest.id, 0) into start from (
              select id, (select max(id) from events as before where before.id < events.id) as previous from events
              where id > newest.id - 10000 and time_ms > newest.time_ms - 60000
            ) as recent where previous < id - 1;
            upto := greatest(newest.id, known, (extract(epoch from now()) * ${IDS_PER_SECOND})::bigint) + ${SKIPPED};
            update events set id = id - start + upto + 1 where id > start;
            perform setval(pg_get_serial_sequence('events', 'id'), greatest(upto + 1, (select max(id) from events)));
          end if;
          insert into event_histories (name, skipped_after, skipped_upto) values (current, start, upto);
        end if;
      end if;
      return set_config('events.history', current, false);
    end $$`);
}
