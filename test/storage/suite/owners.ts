/**
 * Events of rows that belong to an account, in a table that this shop does not have. What an account sees of others'
 * rows and events is in test/rest/ownership.test.ts, with the sample of docs/own-service.md on both engines.
 */
import type { Knex } from 'knex';
import { recordEvents, recordOwnedEvents } from '../../../src/platform/events/migrations/event-triggers.ts';
import { START } from '../../../src/platform/events/stored-event.ts';
import { eventTable } from '../../../src/platform/events/table.ts';
import { toAccountId } from '../../../src/platform/rpc/caller.ts';
import type { Engine } from '../../../src/platform/storage/engine.ts';
import { compile } from '../../../src/platform/storage/statement.ts';
import type { Scope } from '../../support/scope.ts';
import { notingEngine, type SuiteDatabase, test } from './database.ts';

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

const [ANNA, BEN] = [toAccountId(1n), toAccountId(2n)];

async function openBoxes(t: Scope, database: SuiteDatabase): Promise<Engine> {
  const engine = await database.open({}, MIGRATIONS);
  t.teardown(() => engine.close());
  return engine;
}

export function ownerTests(): void {
  test('Owned events - a migration that would record them without their accounts is refused', async (t) => {
    const up = (knex: Knex) => recordEvents(knex, { box: 'boxes' });
    const again = t.context.database.open({}, [...MIGRATIONS, { name: '902-again', up, isAdditive: true }]);
    await t.throwsAsync(again, { message: /boxes: rows that have an account_id/ });
  });

  test('Owned events - from before the owners are theirs, and those of rows that are gone nobody’s', async (t) => {
    const { after } = eventTable(await openBoxes(t, t.context.database)).reads;
    const seenBy = async (owner: typeof ANNA) => (await after({ after: START, limit: 10, owner })).rows;
    t.deepEqual([(await seenBy(ANNA)).map(({ type }) => type), await seenBy(BEN)], [['box.created'], []]);
  });

  test('Owned events - are found by an index, whosever there are before', async (t) => {
    const engine = await openBoxes(t, t.context.database);
    const { noted, engine: noting } = notingEngine(engine);
    const { after } = eventTable(noting).reads;
    for (const types of [[], ['box.created']]) await after({ after: START, limit: 10, owner: ANNA, types });
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
