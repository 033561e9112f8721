/** List fields: a list in one column, in a table that the shop does not have. */
import type { Engine } from '../../../src/platform/storage/engine.ts';
import { bigInteger, boolean, integer, list, optional, record, text } from '../../../src/platform/storage/fields.ts';
import { resource, table } from '../../../src/platform/storage/table.ts';
import { runSql, test } from './database.ts';

interface Line {
  readonly name: string;
  readonly count: bigint;
}

interface Parcel {
  readonly id: bigint;
  readonly labels: readonly string[];
  readonly sizes: readonly number[];
  readonly petIds: readonly bigint[];
  readonly flags: readonly boolean[];
  readonly lines: readonly Line[];
  readonly note: string | undefined;
}

const PARCELS = table<Parcel>('parcels', {
  id: bigInteger('id'),
  labels: list('labels', text),
  sizes: list('sizes', integer),
  petIds: list('pet_ids', bigInteger),
  flags: list('flags', boolean),
  lines: list('lines', () => record<Line>({ name: text('name'), count: bigInteger('count') })),
  note: optional(text('note')),
});

const EMPTY = { labels: [], sizes: [], petIds: [], flags: [], lines: [], note: undefined };
const FULL = {
  labels: ['red', '', '"', '[]', '\\', 'Grüße 猫 😀', '\x01\u2028'],
  sizes: [0, -1, 2_147_483_647],
  petIds: [0n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)],
  flags: [true, false],
  lines: [
    { name: 'a', count: 2n ** 63n - 1n },
    { name: '{"}', count: 0n },
  ],
  note: 'x',
};

const LISTS = ['labels', 'sizes', 'pet_ids', 'flags', 'lines'];

/** As a migration adds the lists: the row that is there gets their default. */
async function createTable(engine: Engine) {
  const id = engine.knex.client.config.client === 'sqlite3' ? 'integer primary key' : 'bigserial primary key';
  await runSql(engine, `create table parcels (id ${id}, note text)`);
  await runSql(engine, 'insert into parcels (note) values (null)');
  for (const name of LISTS) await runSql(engine, `alter table parcels add column ${name} text not null default '[]'`);
  return resource(engine, PARCELS);
}

export function listTests(): void {
  test('Fields - a value that is no value of the field, such as an integer beyond 2^53, is an error', (t) => {
    const wrong = [2 ** 53, '9007199254740993', 'a', null].map((value) => [integer('x'), value] as const);
    for (const [field, x] of [...wrong, [text('x'), 1], [boolean('x'), 'a'], [bigInteger('x'), true]] as const)
      t.throws(() => field.read({ x }), { message: /^the database gave \w+ for x$/ });
  });

  test('Lists - are returned as written and updated, with any items; empty in a row from before them', async (t) => {
    const { engine } = t.context;
    const { reads, writes } = await createTable(engine);
    t.deepEqual(await reads.find(1n), { ...EMPTY, id: 1n });
    t.deepEqual(PARCELS.toRecord({ id: 1 }), { ...EMPTY, id: 1n }, 'in an event');
    for (const fields of [EMPTY, FULL]) {
      const { id } = await engine.transaction((tx) => writes(tx).insert(fields));
      t.deepEqual(await reads.find(id), { ...fields, id });
      for (const changed of [{ ...FULL, labels: FULL.labels.toReversed() }, EMPTY]) {
        await engine.transaction((tx) => writes(tx).update({ ...changed, id }));
        t.deepEqual(await reads.find(id), { ...changed, id });
      }
    }
  });
}
