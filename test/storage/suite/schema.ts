/** Which schemas a release accepts: its own, older ones that it may migrate, newer ones with additive changes only. */
import type { Engine } from '../../../src/storage/engine.ts';
import { compile } from '../../../src/storage/statement.ts';
import { SchemaRefused } from '../../../src/storage/store-errors.ts';
import { newCategory, test } from './database.ts';

async function run(engine: Engine, sql: string): Promise<void> {
  await engine.write(compile(sql.slice(0, 60), engine.knex.raw(sql)), {});
}

/** Applies and records a migration of a newer release. */
async function addFuture(engine: Engine, isAdditive: boolean): Promise<void> {
  await run(engine, 'CREATE TABLE future (id integer)');
  await run(engine, "ALTER TABLE categories ADD COLUMN colour text NOT NULL DEFAULT 'red'");
  const values = `'999-future', 1, ${isAdditive}`;
  await run(engine, `INSERT INTO schema_migrations (name, batch, additive) VALUES (${values})`);
}

export function schemaTests(): void {
  test('Schema - one with only additive migrations of a newer release is accepted', async (t) => {
    const { store, engine, openAgain } = t.context;
    await addFuture(engine, true);
    const id = await newCategory(store);
    const again = await openAgain();
    t.is((await again.categories.find(id))?.id, id);
    t.truthy(await newCategory(again));
  });

  test('Schema - a newer, not additive migration is refused, with its name and what to do', async (t) => {
    const { database, engine } = t.context;
    await addFuture(engine, false);
    const message =
      "the database has the migrations 999-future of a newer release, on which this one can't work: " +
      'start the newer one, or restore the backup from before it';
    await t.throwsAsync(database.open(), { instanceOf: SchemaRefused, message });
  });

  test('Schema - missing migrations run, or are refused without permission to migrate', async (t) => {
    const { database, engine, openAgain } = t.context;
    await run(engine, 'DROP TABLE bans');
    await run(engine, 'DROP TABLE usage');
    await run(engine, 'DROP TABLE key_uses');
    await run(engine, "DELETE FROM schema_migrations WHERE name IN ('003-usage', '005-key-uses')");
    const message =
      'the database lacks the migrations 003-usage, 005-key-uses: ' +
      'run "npm run migrate", or start with MIGRATE_AT_START=yes';
    await t.throwsAsync(database.open({ migrates: false }), { instanceOf: SchemaRefused, message });
    t.deepEqual(await (await openAgain()).bans.inForce(0), []);
    const current = await database.open({ migrates: false });
    await current.close();
  });
}
