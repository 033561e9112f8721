/**
 * Triggers that write an event for each row that a statement inserts, changes or deletes. An update that changes
 * nothing writes none. The event has the whole row: as it is afterwards, or as it was before its deletion.
 *
 * A trigger runs in the transaction of the change, while that holds the lock of the row: so the events of one row have
 * the order of its changes. On PostgreSQL an id is taken after the transaction has locked the table `events`, which
 * settled.ts relies on.
 *
 * Migrations have called these, so they never change: other triggers are another function, and a migration that calls
 * it.
 */
import type { Knex } from 'knex';

/**
 * (Re)creates the triggers of tables, by the kind of their events: first those that others refer to. Each migration
 * that adds a column calls it again. The rows that exist already get an event each if the feed has none of their kind,
 * as if they were created now, so that the feed alone can rebuild the table.
 */
export async function recordEvents(knex: Knex, tables: Readonly<Record<string, string>>): Promise<void> {
  await createTriggers(knex, tables, false);
}

/**
 * The same for tables whose rows belong to an account: each event has that of its row. Where a table had events before,
 * they get it, too; those of rows that are gone are nobody's. A migration that calls it for the first time is not
 * additive: servers of a release that knows no owners would show these events to all.
 */
export async function recordOwnedEvents(knex: Knex, tables: Readonly<Record<string, string>>): Promise<void> {
  await knex.raw('create index if not exists events_by_account on events (account_id, id)');
  for (const [kind, table] of Object.entries(tables)) {
    const row = knex.client.config.client === 'sqlite3' ? 'resource' : 'cast(resource as json)';
    const owner = `select account_id from ${table} where cast(id as text) = cast(${row} ->> 'id' as text)`;
    const unowned = `type like '${kind}.%' and account_id = 0`;
    await knex.raw(`update events set account_id = coalesce((${owner}), -1) where ${unowned}`);
  }
  await createTriggers(knex, tables, true);
}

async function createTriggers(knex: Knex, tables: Readonly<Record<string, string>>, isOwned: boolean): Promise<void> {
  const isSqlite = knex.client.config.client === 'sqlite3';
  // Transactions write to the last ones first: a row, then its parent. Locks in another order would deadlock with them.
  const locked = Object.values(tables).toReversed();
  if (!isSqlite) await knex.raw(`lock table ${locked} in share row exclusive mode`);
  for (const [kind, table] of Object.entries(tables)) {
    // Without its account an event is for all.
    if ((await knex.schema.hasColumn(table, 'account_id')) !== isOwned)
      throw new Error(`${table}: rows that have an account_id, and no others, are recorded by recordOwnedEvents`);
    await (isSqlite ? sqliteTriggers : postgresTriggers)(knex, kind, table, isOwned);
  }
}

const unrecorded = (kind: string) => `not exists (select 1 from events where type like '${kind}.%')`;

async function sqliteTriggers(knex: Knex, kind: string, table: string, isOwned: boolean): Promise<void> {
  const columns = Object.keys(await knex(table).columnInfo());
  const rowOf = (row: string) => `json_object(${columns.map((name) => `'${name}', ${row}${name}`).join(', ')})`;
  const event = (change: string, row: string) =>
    `select '${kind}.${change}', cast(unixepoch('subsec') * 1000 as integer), ${rowOf(row)}${
      isOwned ? `, ${row}account_id` : ''
    }`;
  const insert = `insert into events (type, time_ms, resource${isOwned ? ', account_id' : ''})`;
  const hasChanged = columns.map((name) => `new.${name} is not old.${name}`).join(' or ');
  const changes = [
    { name: 'created', on: 'insert', when: '1', row: 'new.' },
    { name: 'updated', on: 'update', when: hasChanged, row: 'new.' },
    { name: 'deleted', on: 'delete', when: '1', row: 'old.' },
  ];
  for (const { name, on, when, row } of changes) {
    await knex.raw(`drop trigger if exists ${table}_${name}`);
    await knex.raw(
      `create trigger ${table}_${name} after ${on} on ${table} when ${when} begin ${insert} ${event(name, row)}; end`,
    );
  }
  await knex.raw(`${insert} ${event('created', '')} from ${table} where ${unrecorded(kind)} order by id`);
}

async function postgresTriggers(knex: Knex, kind: string, table: string, isOwned: boolean): Promise<void> {
  // With its schema: whoever changes the shop may have another search_path.
  const { rows } = await knex.raw<{ rows: { name: string }[] }>('select quote_ident(current_schema()) as name');
  const insert = `insert into ${rows[0]?.name}.events (type, time_ms, resource${isOwned ? ', account_id' : ''})`;
  const name = isOwned ? 'record_owned_event' : 'record_event';
  const rowOf = (row: string) => `row_to_json(${row})${isOwned ? `, ${row}.account_id` : ''}`;
  const time = 'floor(extract(epoch from clock_timestamp()) * 1000)';
  await knex.raw(`
    create or replace function ${name}() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then ${insert} values (tg_argv[0] || '.created', ${time}, ${rowOf('new')});
      elsif tg_op = 'DELETE' then ${insert} values (tg_argv[0] || '.deleted', ${time}, ${rowOf('old')});
      elsif new is distinct from old then ${insert} values (tg_argv[0] || '.updated', ${time}, ${rowOf('new')});
      end if;
      return null;
    end $$`);
  await knex.raw(`
    create or replace trigger ${table}_events after insert or update or delete on ${table}
    for each row execute function ${name}('${kind}')`);
  const existing = `select '${kind}.created', ${time}, ${rowOf(table)} from ${table}`;
  await knex.raw(`${insert} ${existing} where ${unrecorded(kind)} order by id`);
}
