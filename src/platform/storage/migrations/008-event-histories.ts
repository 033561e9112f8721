/**
 * The histories of the feed, and the ids that were skipped where one began: after a fail-over, which may have lost
 * writes, or a restored backup. Readers may have seen such ids, so that no event gets one again.
 *
 * On PostgreSQL `adopt_event_history` is called on each new connection, before it writes: it finds out which history
 * the database has, and begins a new one if that is not the last. A name is that of the cluster, of its timeline, which
 * each promotion and each recovery to a point in time changes, of the database, which a copy has not, and of the table,
 * which a restored dump makes anew. The function has its owner's rights: the server's user has none on the sequence.
 *
 * Lost writes are those that committed last, and a smaller id may commit after a greater one: so what is skipped begins
 * at the first gap within the last minute of the feed, if there is one.
 */
import type { Knex } from 'knex';

/** How many ids are skipped: more than could be lost. */
const SKIPPED = 1_000_000_000;

/** Begins a new history of a SQLite file that has events. A restore runs it. */
export const SKIP_ON_SQLITE = [
  `insert into event_histories (name, skipped_after, skipped_upto)
   select 'restored', max(id), max(id) + ${SKIPPED} from events having count(*) > 0`,
  `update sqlite_sequence set seq = (select max(skipped_upto) + 1 from event_histories)
   where name = 'events' and exists (select 1 from event_histories)`,
];

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('event_histories', (table) => {
    table.bigIncrements('id');
    table.text('name').notNullable();
    // No event has an id above the first, up to the second.
    table.bigInteger('skipped_after').notNullable();
    table.bigInteger('skipped_upto').notNullable();
  });
  // The file may be a restored backup of a release without this table.
  const isSqlite = knex.client.config.client === 'sqlite3';
  if (isSqlite) for (const sql of SKIP_ON_SQLITE) await knex.raw(sql);
  if (isSqlite) return;
  const { rows } = await knex.raw<{ rows: { name: string }[] }>('select quote_ident(current_schema()) as name');
  await knex.raw(`
    create function adopt_event_history() returns text language plpgsql security definer
    set search_path = ${rows[0]?.name}, pg_temp as $$
    declare
      current text;
      newest record;
      start bigint;
    begin
      if pg_is_in_recovery() then
        raise exception 'it is a standby, which takes no writes' using errcode = 'read_only_sql_transaction';
      end if;
      current := concat_ws('/', (select system_identifier from pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (select oid from pg_database where datname = current_database()), 'events'::regclass::oid);
      if current is distinct from (select name from event_histories order by id desc limit 1) then
        lock table event_histories in exclusive mode;
        if current is distinct from (select name from event_histories order by id desc limit 1) then
          select id, time_ms into newest from events order by id desc limit 1;
          if newest is null then
            insert into event_histories (name, skipped_after, skipped_upto) values (current, 0, 0);
          else
            select coalesce(min(id), newest.id) into start from (
              select id, lead(id) over (order by id) as next from events
              where id > newest.id - 10000 and time_ms > newest.time_ms - 60000
            ) as recent where next > id + 1;
            insert into event_histories (name, skipped_after, skipped_upto)
              values (current, start, newest.id + ${SKIPPED});
            perform setval(pg_get_serial_sequence('events', 'id'), newest.id + ${SKIPPED + 1});
          end if;
        end if;
      end if;
      return set_config('events.history', current, false);
    end $$`);
}
