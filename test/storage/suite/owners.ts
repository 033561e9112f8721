/** Rows that belong to an account, and their events, in a table that this shop does not have. */
import type { Knex } from 'knex';
import { EventFeed } from '../../../src/platform/events/feed.ts';
import { recordEvents, recordOwnedEvents } from '../../../src/platform/events/migrations/event-triggers.ts';
import { START } from '../../../src/platform/events/stored-event.ts';
import { eventTable } from '../../../src/platform/events/table.ts';
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import type { Engine } from '../../../src/platform/storage/engine.ts';
import { compile } from '../../../src/platform/storage/statement.ts';
import { id, table, text } from '../../../src/platform/tables/fields.ts';
import { hasOwners, ownedResource } from '../../../src/platform/tables/owned.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { TABLES } from '../../../src/schema.ts';
import type { Scope } from '../../support/scope.ts';
import { CONTEXT } from '../../support/service/call.ts';
import { newCategory, type SuiteDatabase, test } from './database.ts';

interface Box {
  readonly id: bigint;
  readonly name: string;
}

const BOXES = table<Box>('boxes', { id: id('id'), name: text('name') });

/** Two rows, one of which is deleted again: the table gets owners later. */
async function makeTable(knex: Knex): Promise<void> {
  await knex.schema.createTable('boxes', (made) => {
    made.bigIncrements('id');
    made.text('name').notNullable();
  });
  await recordEvents(knex, { box: 'boxes' });
  await knex('boxes').insert([{ name: 'kept' }, { name: 'gone' }]);
  await knex('boxes').where({ name: 'gone' }).delete();
}

async function addOwners(knex: Knex): Promise<void> {
  await knex.schema.alterTable('boxes', (table) => {
    table.bigInteger('account_id').notNullable().defaultTo(1);
    table.index(['account_id', 'id']);
  });
  await recordOwnedEvents(knex, { box: 'boxes' });
}

const MIGRATIONS = [
  { name: '900-boxes', up: makeTable, isAdditive: false },
  { name: '901-owners', up: addOwners, isAdditive: false },
];

const [ANNA, BEN] = [1n, 2n].map((account) => ({
  ...CONTEXT,
  caller: { ...CONTEXT.caller, accountId: toAccountId(account) },
})) as [typeof CONTEXT, typeof CONTEXT];

async function openBoxes(t: Scope, database: SuiteDatabase) {
  const engine: Engine = await database.open({}, MIGRATIONS);
  let read = 0;
  const all: Engine['reader']['all'] = async (statement, params) => {
    const rows = await engine.reader.all(statement, params);
    if (statement.name.includes('events.page')) read += rows.length;
    return rows;
  };
  const store = createStore(
    { ...engine, reader: { all } },
    { ...TABLES, boxes: (opened) => ownedResource(opened, BOXES) },
  );
  t.teardown(() => store.close());
  const feed = new EventFeed(store.events, (error) => console.error(error), hasOwners(store));
  return { engine, store, feed, rowsRead: () => read };
}

export function ownerTests(): void {
  test('Owned events - a migration that would record them without their accounts is refused', async (t) => {
    const up = (knex: Knex) => recordEvents(knex, { box: 'boxes' });
    const again = t.context.database.open({}, [...MIGRATIONS, { name: '902-again', up, isAdditive: true }]);
    await t.throwsAsync(again, { message: /boxes: rows that have an account_id/ });
  });

  test('Owned rows - others find, list, lock, change and delete none; without an owner there are none', async (t) => {
    const { store } = await openBoxes(t, t.context.database);
    t.deepEqual(Object.keys(store.boxes), ['of']);
    const insert = (owner: typeof ANNA, name: string) => store.write(({ boxes }) => boxes.of(owner).insert({ name }));
    const [first, other, last] = [await insert(ANNA, 'a'), await insert(BEN, 'b'), await insert(ANNA, 'c')];
    const ids = [last.id, other.id, first.id, 999n];
    const page = { after: first.id - 1n, limit: 10 };
    for (const [owner, own, foreign] of [
      [ANNA, [first, last], [other]] as const,
      [BEN, [other], [first, last]] as const,
    ]) {
      const reads = store.boxes.of(owner);
      t.deepEqual(await reads.findAll(ids), own);
      t.deepEqual((await reads.page(page)).rows, own);
      t.deepEqual(
        (await reads.page(page, { name: other.name })).rows,
        own.filter(({ name }) => name === 'b'),
      );
      // At the same time, in one statement.
      const all = [ANNA, BEN].flatMap((each) => ids.map((one) => store.boxes.of(each).find(one)));
      const names = (await Promise.all(all)).map((box) => box?.name);
      t.deepEqual(names, ['c', undefined, 'a', undefined, ...[undefined, 'b', undefined, undefined]]);
      for (const box of foreign) {
        await store.transaction(async ({ boxes }) => {
          const writes = boxes.of(owner);
          t.is(await writes.lock(box.id), undefined);
          await writes.update({ ...box, name: 'stolen' });
          await writes.delete(box.id);
        });
      }
    }
    t.deepEqual(await store.boxes.of(ANNA).findAll(ids), [first, last]);
    await store.transaction(async ({ boxes }) => {
      t.deepEqual(await boxes.of(BEN).lock(other.id), other);
      await boxes.of(BEN).update({ ...other, name: 'd' });
    });
    t.deepEqual(await store.boxes.of(BEN).find(other.id), { ...other, name: 'd' });
    await store.transaction(({ boxes }) => boxes.of(BEN).delete(other.id));
    t.deepEqual((await store.boxes.of(BEN).page({ after: 0n, limit: 10 })).rows, []);
  });

  test('Owned events - each account has its own and those for all, by types too, past those of others', async (t) => {
    const { store, feed, rowsRead } = await openBoxes(t, t.context.database);
    await store.transaction(async ({ boxes }) => {
      for (let index = 0; index < 700; index += 1) await boxes.of(ANNA).insert({ name: `${index}` });
    });
    await newCategory(store);
    const own = await store.write(({ boxes }) => boxes.of(BEN).insert({ name: 'b' }));
    await store.transaction(({ boxes }) => boxes.of(BEN).delete(own.id));
    const listed = async (owner: typeof ANNA, types: readonly string[], limit: number) => {
      const found: string[] = [];
      let pages = 0;
      for (let next: typeof START | undefined = START; next !== undefined; pages += 1) {
        const page = await feed.page(owner, next, types, limit);
        found.push(...page.events.map(({ type }) => type));
        next = page.next;
      }
      return { found, pages };
    };
    const bens = ['category.created', 'box.created', 'box.deleted'];
    t.deepEqual(await listed(BEN, [], 100), { found: bens, pages: 1 });
    t.true(rowsRead() <= 4, `${rowsRead()} rows`);
    t.deepEqual(await listed(BEN, [], 2), { found: bens, pages: 2 });
    t.deepEqual(await listed(BEN, ['box.created'], 2), { found: ['box.created'], pages: 1 });
    const annas = await listed(ANNA, [], 100);
    t.is(annas.found.length, 702, 'of the box that was kept, too, and not of the one that was gone');
    t.deepEqual((await listed(ANNA, ['box.deleted'], 100)).found, []);
  });

  test('Owned events - a stream has its own and those for all, old and new, and others’ move it on', async (t) => {
    const { store, feed } = await openBoxes(t, t.context.database);
    await store.transaction(async ({ boxes }) => {
      for (let index = 0; index < 300; index += 1) await boxes.of(index % 3 === 0 ? BEN : ANNA).insert({ name: 'x' });
    });
    const follow = (owner: typeof ANNA, after?: typeof START) =>
      feed.follow({ ...owner, onClose: () => undefined }, after, []);
    const streams = [ANNA, BEN].flatMap((owner) => [follow(owner, START), follow(owner)]);
    const seen = streams.map((): string[] => []);
    const reading = streams.map(async (stream, index) => {
      for await (const { events } of stream) {
        seen[index]?.push(...events.map(({ type, owner }) => `${type} ${owner}`));
        if (events.some(({ type }) => type === 'category.created')) return;
      }
    });
    while (seen[0]?.length !== 201 || seen[2]?.length !== 100) await new Promise((resolve) => setTimeout(resolve, 20));
    await store.transaction(async ({ boxes }) => {
      await boxes.of(ANNA).insert({ name: 'new' });
      await boxes.of(BEN).insert({ name: 'new' });
    });
    await newCategory(store);
    feed.noteWrite();
    await Promise.all(reading);
    const end = (owner: string) => [`box.created ${owner}`, 'category.created 0'];
    t.deepEqual(
      seen.map((all) => [all.length, ...new Set(all)]),
      [
        [203, ...end('1')],
        [2, ...end('1')],
        [102, ...end('2')],
        [2, ...end('2')],
      ],
    );
  });

  test('Owned events - are found by an index, whosever there are before', async (t) => {
    const { engine } = await openBoxes(t, t.context.database);
    const noted: Parameters<Engine['reader']['all']>[] = [];
    const all: Engine['reader']['all'] = async (...run) => {
      noted.push(run);
      return [];
    };
    const { after } = eventTable({ ...engine, reader: { all } }).reads;
    const { accountId: owner } = ANNA.caller;
    for (const types of [[], ['box.created']]) await after({ after: START, limit: 10, owner, types });
    t.is(noted.length, 2);
    const [explain, ...settings] =
      engine.knex.client.config.client === 'sqlite3'
        ? ['explain query plan']
        : ['explain (costs off)', ...['seqscan', 'sort', 'bitmapscan'].map((way) => `set local enable_${way} = off`)];
    for (const [{ name, sql, bind }, params] of noted) {
      const plan = await engine.transaction(async (tx) => {
        for (const setting of settings) await tx.all(compile(setting, engine.knex.raw(setting)), {});
        return JSON.stringify(await tx.all({ name: `explain ${name}`, sql: `${explain} ${sql}`, bind }, params));
      });
      t.is(plan.match(/using (index )?events_by_account/gi)?.length, 2, plan);
      t.is(plan.match(/account_id ?=[^"]* and \(?id ?>/gi)?.length, 2, plan);
      t.notRegex(plan, /b-tree|" *-> {2}sort|seq scan|bitmap|scan events/i);
    }
  });
}
