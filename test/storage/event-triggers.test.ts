/** The triggers of a table that gets another column, as in a migration. The storage suite tests their events. */
import test from 'ava';
import knex from 'knex';
import { recordEvents } from '../../src/platform/storage/migrations/event-triggers.ts';

test('Event triggers - a column that is added is in later events, and no row is created again', async (t) => {
  const database = knex({ client: 'sqlite3', connection: { filename: ':memory:' }, useNullAsDefault: true });
  t.teardown(() => database.destroy());
  const events = async () => {
    const rows: readonly { type: string; resource: string }[] = await database('events').select().orderBy('id');
    return rows.map(({ type, resource }) => ({ type, ...JSON.parse(resource) }));
  };
  await database.raw('create table events (id integer primary key, type text, time_ms integer, resource text)');
  await database.raw('create table parcels (id integer primary key, name text)');
  await database.raw("insert into parcels values (1, 'a'), (2, 'b')");

  await recordEvents(database, { parcel: 'parcels' });
  const created = [1, 2].map((id) => ({ type: 'parcel.created', id, name: id === 1 ? 'a' : 'b' }));
  t.deepEqual(await events(), created);

  await database.raw("alter table parcels add column labels text not null default '[]'");
  await recordEvents(database, { parcel: 'parcels' });
  t.deepEqual(await events(), created);

  await database.raw(`update parcels set labels = '["red"]' where id = 1`);
  const updated = { type: 'parcel.updated', id: 1, name: 'a', labels: '["red"]' };
  t.deepEqual(await events(), [...created, updated]);
});
