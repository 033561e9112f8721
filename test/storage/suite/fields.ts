/** The kinds of fields that a shop's table may have, in a table that this shop does not have, with its events. */
import type { Knex } from 'knex';
import { recordEvents } from '../../../src/platform/events/migrations/event-triggers.ts';
import { parseRow } from '../../../src/platform/events/stored-event.ts';
import type { Engine } from '../../../src/platform/storage/engine.ts';
import type { Row } from '../../../src/platform/storage/statement.ts';
import * as f from '../../../src/platform/tables/fields.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { resource } from '../../../src/platform/tables/table.ts';
import { TABLES } from '../../../src/schema.ts';
import type { Scope } from '../../support/scope.ts';
import { eventsOf, type SuiteDatabase, test } from './database.ts';

const SENDER = f.record({
  name: f.text('sender'),
  phone: f.optional(f.text('sender_phone')),
  value: f.optional(f.bigInteger('sender_value')),
});
const PARCELS = f.table('parcels', {
  id: f.id('id'),
  labels: f.list('labels', f.text),
  flags: f.list('flags', f.boolean),
  lines: f.list('lines', () => f.record({ name: f.text('name'), count: f.bigInteger('count') })),
  note: f.optional(f.text('note')),
  price: f.bigInteger('price'),
  sender: f.optional(SENDER),
  seats: f.since(7, f.integer('bytes')), // pages count bytes too
});

const EMPTY = { labels: [], flags: [], lines: [], note: undefined, sender: undefined };
const FULL = {
  labels: ['red', '', '"', '[]', '\\', '\x01\u2028'],
  flags: [true, false],
  lines: [
    { name: 'a', count: 2n ** 63n - 1n },
    { name: '{"}', count: 0n },
  ],
  note: "Robert'); DROP TABLE parcels;-- \x01\x1a\x7f\u0085\u2028\ufffe Grüße 猫 😀",
  sender: { name: 'Ada', phone: '555', value: -(2n ** 53n) - 1n },
};
/** Those that a double would round, and those beside them. */
const INT64 = [0n, 1n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];

async function makeTable(knex: Knex): Promise<void> {
  await knex.schema.createTable('parcels', (table) => {
    table.bigIncrements('id');
    table.text('note');
    table.bigInteger('price').notNullable().defaultTo(0);
    for (const name of ['sender', 'sender_phone']) table.text(name);
    table.bigInteger('sender_value');
  });
  await knex('parcels').insert({ note: null });
  await recordEvents(knex, { parcel: 'parcels' });
}

/** The row that is there gets the defaults. */
async function addColumns(knex: Knex): Promise<void> {
  await knex.schema.alterTable('parcels', (table) => {
    for (const name of ['labels', 'flags', 'lines']) table.text(name).notNullable().defaultTo('[]');
    table.integer('bytes').notNullable().defaultTo(7);
  });
  await recordEvents(knex, { parcel: 'parcels' });
}

async function openParcels(t: Scope, database: SuiteDatabase) {
  const engine: Engine = await database.open({}, [
    { name: '900-parcels', up: makeTable, isAdditive: false },
    { name: '901-lists', up: addColumns, isAdditive: true },
  ]);
  const store = createStore(engine, { ...TABLES, parcels: (opened) => resource(opened, PARCELS) });
  t.teardown(() => store.close());
  return store;
}

export function fieldTests(): void {
  test('Fields - a value that is no value of the field, such as an integer beyond 2^53, is an error', (t) => {
    const wrong = [2 ** 53, '9007199254740993', 'a', null].map((value) => [f.integer('x'), value] as const);
    const rounded = [f.bigInteger('x'), f.id('x')].map((field) => [field, 2 ** 53] as const);
    const others = [[f.text('x'), 1] as const, [f.boolean('x'), 'a'] as const, [f.id('x'), true] as const];
    for (const [field, x] of [...wrong, ...rounded, ...others])
      t.throws(() => field.read({ x }), { message: /^the database gave \w+ for x$/ });
    const empty = f.record({ x: f.optional(f.text('x')) });
    t.throws(() => f.optional(empty), { message: /nothing tells an empty record from none/ });
  });

  test('Fields - are returned as written and updated, by id, in pages, locked and in events', async (t) => {
    const store = await openParcels(t, t.context.database);
    const read = async (one: bigint) => {
      const locked = await store.transaction(({ parcels }) => parcels.lock(one));
      const { rows } = await store.parcels.page({ after: one - 1n, limit: 1 }, { seats: one === 1n ? 7 : 1 });
      const event = (await eventsOf(store, ['parcel.created', 'parcel.updated'])).findLast(
        ({ row }) => JSON.parse(row).id === Number(one),
      );
      return [await store.parcels.find(one), locked, rows[0], PARCELS.toRecord(parseRow(event?.row ?? '') as Row)];
    };
    const before = { ...EMPTY, id: 1n, price: 0n, seats: 7 };
    t.deepEqual(await read(1n), Array(4).fill(before), 'also a row, and an event, from before the columns');
    t.is((await eventsOf(store, ['parcel.created'])).length, 1, 'it was not created again with them');
    const senders = [FULL.sender, { ...FULL.sender, phone: undefined, value: undefined }, undefined];
    for (const price of INT64) {
      const made = { ...FULL, price, sender: senders[Number(BigInt.asUintN(2, price)) % 3], seats: 1 };
      const parcel = await store.write(({ parcels }) => parcels.insert(made));
      t.deepEqual(await read(parcel.id), Array(4).fill({ ...made, id: parcel.id }));
      t.deepEqual((await store.parcels.page({ after: 0n, limit: 9 }, { price })).rows.at(-1)?.price, price);
      await store.transaction(async ({ parcels }) => {
        const locked = await parcels.lock(parcel.id);
        if (locked !== undefined) await parcels.update({ ...locked, ...EMPTY }); // the price stays
      });
      t.deepEqual(await read(parcel.id), Array(4).fill({ ...made, ...EMPTY, id: parcel.id }));
    }
  });
}
