/**
 * The events: one for each change of a row, in its transaction, in order. The deletion of what is old, of events and
 * idempotency records, with rows that a wrong clock has dated ahead or too early.
 */
import { parseRow, toEventId } from '../../../src/platform/events/stored-event.ts';
import { compile, type Row } from '../../../src/platform/storage/statement.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { TABLES } from '../../../src/schema.ts';
import { toCategoryId } from '../../../src/shop/categories/table.ts';
import { ORDERS } from '../../../src/shop/orders/table.ts';
import { toPetId } from '../../../src/shop/pets/table.ts';
import { eventsOf, newCategories, newCategory, newPet, runSql, test } from './database.ts';
import { NOW_MS } from './rows.ts';

const KEPT_MS = 1_000;
/** Old, within its time, and dated ahead. */
const TIMES = { o: NOW_MS - KEPT_MS - 1, n: NOW_MS - KEPT_MS, a: NOW_MS + 1 };

/** The rows in their order, and those that are left after deletions of two at a time: all behind one that is kept. */
const CASES = { ooon: 'n', aooon: 'n', aaaaaoooaon: 'n', aaaaan: 'aaaaan', onoan: 'noan', oan: 'an', nnn: 'nnn' };

export function eventTests(): void {
  test('Events - have the row to its nanosecond, and its change by the millisecond', async (t) => {
    const { store } = t.context;
    const shipDate = { seconds: -62_135_596_800n, nanos: 999_999_999 };
    const fields = { petId: (await newPet(store)).id, quantity: 2, shipDate, complete: true };
    const order = await store.transaction((tx) => tx.orders.insert(fields));
    const [event] = await eventsOf(store, ['order.created']);
    t.deepEqual(ORDERS.toRecord(parseRow(event?.row ?? '') as Row), order);
    t.true(Math.abs((event?.timeMs ?? 0) - Date.now()) < 60_000);
  });

  test('Events - a write that changes nothing stores none', async (t) => {
    const { store } = t.context;
    const id = await newCategory(store);
    await store.transaction((tx) => tx.categories.update({ id, name: 'Cats', description: undefined }));
    await store.transaction((tx) => tx.categories.delete(toCategoryId(99n)));
    await store.transaction((tx) => tx.pets.delete(toPetId(99n)));
    t.is((await eventsOf(store)).length, 1);
  });

  test('Events - of certain types read no others; a page has few where they are large; none is missed', async (t) => {
    const { store, engine } = t.context;
    let bytes = 0;
    const all = async (...args: Parameters<typeof engine.reader.all>) => {
      const rows = await engine.reader.all(...args);
      bytes += JSON.stringify(rows).length;
      return rows;
    };
    const { events } = createStore({ ...engine, reader: { all } }, TABLES);
    const description = '\x01'.repeat(2_000); // six characters each
    await store.transaction(async ({ categories }) => {
      for (let index = 0; index < 520; index += 1) await categories.insert({ name: `${index}`, description });
    });
    const pet = await newPet(store);
    t.is((await eventsOf({ events }, ['pet.created'])).length, 1);
    t.true(bytes < 100_000, `${bytes} bytes`);
    for (const types of [[], ['category.created', 'pet.created']]) {
      bytes = 0;
      const page = await events.after({ after: toEventId(1n), limit: 100, types });
      t.true(page.rows.length === 4 || page.rows.length === 5, 'of 12 KB, in 64 KiB');
      t.true(page.hasMore && bytes < 200_000, `${bytes} bytes`);
      const found = (await eventsOf(store, types)).filter(({ type }) => type === 'category.created');
      t.is(found.length, 521);
    }
    const [created] = await eventsOf(store, ['pet.created']);
    t.is(JSON.parse(created?.row ?? '{}').id, Number(pet.id));
  });

  test('Events - ids ascend and are never used again; the oldest can be deleted, the newest stays', async (t) => {
    const { store } = t.context;
    await newCategories(store, 6);
    const remove = (count: number, ms: number) => store.transaction(({ events }) => events.deleteOldest(count, ms, 0));
    t.is(await remove(2, Date.now() + 60_000), 2);
    t.is(await store.transaction(({ events }) => events.deleteOldest(100, Date.now(), 60_000)), 0);
    t.is(await remove(100, Date.now() + 60_000), 3);
    t.like(await store.events.bounds(), { oldest: toEventId(6n), newest: toEventId(6n) });
    await newCategory(store);
    const ids = (await eventsOf(store)).map(({ id }) => id);
    t.deepEqual(ids, [toEventId(6n), toEventId(7n)]);
  });

  test('Retention - by a clock that is behind all rows looks at a bounded number of them at a time', async (t) => {
    const { store } = t.context;
    await newCategories(store, 5);
    const next = () => store.transaction(({ events }) => events.deleteOldest(2, NOW_MS, KEPT_MS));
    t.deepEqual([await next(), await next(), await next(), (await eventsOf(store)).length], [2, 2, 0, 5]);
    t.deepEqual([await next(), await next(), await next()], [2, 2, 0]);
  });

  for (const [rows, left] of Object.entries(CASES)) {
    test(`Retention - of rows dated ${rows} deletes all but ${left}, of events and idempotency records`, async (t) => {
      const { store, engine } = t.context;
      await newCategories(store, rows.length);
      const times = Object.entries(TIMES).map(([letter, ms]) => `when '${letter}' then ${ms}`);
      const time = (index: string) => `case substr('${rows}', cast(${index} as integer), 1) ${times.join(' ')} end`;
      await runSql(engine, `update events set time_ms = ${time('id')}`);
      await runSql(
        engine,
        `insert into idempotency_records (id, request_digest, answer, created_at_ms)
          select id, '', '', time_ms from events order by events.id`,
      );
      for (const [table, name, column, order] of [
        ['events', 'events', 'time_ms', 'id'],
        ['idempotency', 'idempotency_records', 'created_at_ms', 'sequence'],
      ] as const) {
        while ((await store.transaction((tx) => tx[table].deleteOldest(2, NOW_MS, KEPT_MS))) > 0);
        const query = engine.knex(name).select(`${column} as ms`).orderBy(order);
        const found = await engine.reader.all(compile(`left.${name}`, query), {});
        const letters = found.map(({ ms }) => Object.entries(TIMES).find(([, time]) => time === Number(ms))?.[0]);
        t.is(letters.join(''), left, name);
      }
    });
  }
}
