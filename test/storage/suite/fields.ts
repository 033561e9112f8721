/** The kinds of fields that a shop's table may have, in a table that this shop does not have, with its events. */
import type { Knex } from 'knex';
import { recordEvents } from '../../../src/platform/events/migrations/event-triggers.ts';
import { parseRow } from '../../../src/platform/events/stored-event.ts';
import type { Engine } from '../../../src/platform/storage/engine.ts';
import type { Row } from '../../../src/platform/storage/statement.ts';
import {
  bigInteger,
  boolean,
  id,
  integer,
  list,
  optional,
  record,
  since,
  table,
  text,
} from '../../../src/platform/tables/fields.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { resource } from '../../../src/platform/tables/table.ts';
import { TABLES } from '../../../src/schema.ts';
import type { Scope } from '../../support/scope.ts';
import { eventsOf, type SuiteDatabase, test } from './database.ts';

const PARCELS = table('parcels', {
  id: id('id'),
  labels: list('labels', text),
  flags: list('flags', boolean),
  lines: list('lines', () => record({ name: text('name'), count: bigInteger('count') })),
  note: optional(text('note')),
  price: bigInteger('price'),
  sender: optional(
    record({
      name: text('sender'),
      phone: optional(text('sender_phone')),
      value: optional(bigInteger('sender_value')),
    }),
  ),
  seats: since(7, integer('bytes')), // pages count bytes too
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
    const wrong = [2 ** 53, '9007199254740993', 'a', null].map((value) => [integer('x'), value] as const);
    const rounded = [bigInteger('x'), id('x')].map((field) => [field, 2 ** 53] as const);
    for (const [field, x] of [...wrong, ...rounded, [text('x'), 1], [boolean('x'), 'a'], [id('x'), true]] as const)
      t.throws(() => field.read({ x }), { message: /^the database gave \w+ for x$/ });
    t.throws(() => optional(record({ x: optional(text('x')) })), {
      message: /nothing tells an empty record from none/,
    });
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
