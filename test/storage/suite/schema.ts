/** Which schemas a release works on: its own, older ones that it may bring up to date, newer ones that only add. */
import type { Engine } from '../../../src/storage/engine.ts';
import { SchemaRefused } from '../../../src/storage/errors.ts';
import { compile } from '../../../src/storage/statement.ts';
import { newCategory, test } from './database.ts';

async function run(engine: Engine, sql: string): Promise<void> {
  await engine.write(compile(sql.slice(0, 60), engine.knex.raw(sql)), {}, () => true);
}

/** What a newer release would have done, and noted. */
async function addFuture(engine: Engine, isAdditive: boolean): Promise<void> {
  await run(engine, 'CREATE TABLE future (id integer)');
  await run(engine, "ALTER TABLE categories ADD COLUMN colour text NOT NULL DEFAULT 'red'");
  const values = `'999-future', 1, ${isAdditive}`;
  await run(engine, `INSERT INTO schema_migrations (name, batch, additive) VALUES (${values})`);
}

export function schemaTests(): void {
  test('Schema - one that a newer release has only added to is worked on', async (t) => {
    const { store, engine, openAgain } = t.context;
    await addFuture(engine, true);
    const id = await newCategory(store);
    const again = await openAgain();
    t.is((await again.categories.find(id))?.id, id);
    t.truthy(await newCategory(again));
  });

  test('Schema - one that a newer release has changed otherwise is refused, with its name and what to do', async (t) => {
    const { database, engine } = t.context;
    await addFuture(engine, false);
    const message =
      "the database has the migrations 999-future of a newer release, on which this one can't work: " +
      'start the newer one, or restore the backup from before it';
    await t.throwsAsync(database.open(), { instanceOf: SchemaRefused, message });
  });

  test('Schema - one that lacks something is brought up to date, or refused where that is left to another', async (t) => {
    const { database, engine, openAgain } = t.context;
    await run(engine, 'DROP TABLE bans');
    await run(engine, 'DROP TABLE usage');
    await run(engine, "DELETE FROM schema_migrations WHERE name = '003-usage'");
    const message =
      'the database lacks the migrations 003-usage: run "npm run migrate", or start with MIGRATE_AT_START=yes';
    await t.throwsAsync(database.open({ migrates: false }), { instanceOf: SchemaRefused, message });
    t.deepEqual(await (await openAgain()).usage.bans(0), []);
    const looked = await database.open({ migrates: false });
    await looked.close();
  });

  test('Schema - one as earlier releases noted it is known', async (t) => {
    const { engine, openAgain } = t.context;
    await run(engine, 'ALTER TABLE schema_migrations DROP COLUMN additive');
    t.truthy(await newCategory(await openAgain()));
  });
}
