/** The walk on SQLite. `npm run test:walk` has every step in every way. */
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { createStore } from '../../src/platform/tables/store.ts';
import { TABLES } from '../../src/schema.ts';
import { CATS } from '../storage/suite/database.ts';
import { createTestDatabase } from '../support/machine/database.ts';
import { startTestServer } from '../support/service/server.ts';
import { failingDriver, INTERNAL, SEVERAL, SINGLE, WAYS } from './sqlite-driver.ts';
import { isCampaign, walkServer, walkSteps } from './walk.ts';

test.serial('Walk - any step on SQLite fails once, and nothing is lost, done twice or stuck', async (t) => {
  t.timeout(1_200_000);
  const driver = failingDriver(t);
  const server = await startTestServer(t, { DEMO_ACCOUNT: 'yes' });
  await walkServer(t, server, { ...driver, ways: WAYS, internal: INTERNAL, repeated: SEVERAL });
});

test.serial('Walk - any step of grouped writes on SQLite fails: each is there with its record, or not', async (t) => {
  t.timeout(600_000);
  const driver = failingDriver(t);
  const { file, open } = createTestDatabase(t);
  const store = createStore(await open(), TABLES);
  t.teardown(() => store.close());
  const { id: categoryId } = await store.write((tx) => tx.categories.insert(CATS));
  const reader = new DatabaseSync(file, { readOnly: true });
  t.teardown(() => reader.close());
  const count = (table: string, column: string, id: string) =>
    Number(reader.prepare(`SELECT count(*) AS rows FROM ${table} WHERE ${column} = ?`).get(id)?.rows);
  const [requestDigest, response, isCancelled] = [Buffer.alloc(0), Buffer.alloc(0), () => false];
  /** Side by side in batches of several statements, but for the sixth; the fourth is refused. */
  const write = (id: string, index: number): Promise<unknown> => {
    const call = store.forCall({ isCancelled, remember: () => ({ id, requestDigest, response, createdAtMs: 0 }) });
    const pet = { name: id, categoryId, status: 'sold' } as const;
    if (index === 3) return call.write(() => Promise.reject(new Error('refused')));
    if (index === 5) return call.transaction(({ pets }) => pets.insert(pet));
    if (index % 2 === 0) return call.write(({ categories }) => categories.insert({ ...CATS, name: id }));
    return call.write(({ pets }) => pets.insert(pet));
  };
  let number = 0;
  const { failed } = await walkSteps({ ways: WAYS, isWhole: true }, async (step, way) => {
    const ids = Array.from({ length: 7 }, () => `${number++}`);
    driver.fail(step, way);
    const outcomes = await Promise.allSettled(ids.map(write));
    const { hasFailed, steps } = driver.heal();
    for (const [index, id] of ids.entries()) {
      const found = count('pets', 'name', id) + count('categories', 'name', id);
      const where = `write ${index}, ${way} at step ${step}\n${steps.join('\n')}`;
      t.is(found, count('idempotency_records', 'id', id), where);
      if (outcomes[index]?.status === 'fulfilled') t.is(found, 1, where);
    }
    await store.write((tx) => tx.categories.insert(CATS)); // nothing is left of the failure
    return hasFailed;
  });
  t.log(`${WAYS.length} ways: ${failed} failures`);
});

test.serial('Walk - any step of a start on SQLite fails, and the next start completes it', async (t) => {
  t.timeout(1_200_000);
  const driver = failingDriver(t);
  const start = async (fail?: () => void) => {
    const { file, open } = createTestDatabase(t);
    fail?.();
    const starting = open().then((engine) => engine.close());
    const error = await starting.then(() => undefined, String);
    const { hasFailed, steps } = driver.heal();
    if (fail !== undefined) await (await open()).close();
    return { error, hasFailed, steps, content: contentOf(file) };
  };
  const { content } = await start();
  const { failed } = await walkSteps({ ways: SINGLE, stride: isCampaign ? 1 : 5 }, async (step, way) => {
    const { hasFailed, steps, ...run } = await start(() => driver.fail(step, way));
    const where = `${way} at step ${step}\n${steps.at(-1)}`;
    t.deepEqual(run.content, content, where);
    if (run.error !== undefined) t.regex(run.error, new RegExp(`${way.split(' ')[0]}: the step fails$`), where);
    return hasFailed;
  });
  t.log(`${SINGLE.length} ways: ${failed} failures`);
});

/** What a file has, but for times. */
function contentOf(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = (sql: string) => database.prepare(sql).all();
  const schema = rows('SELECT name, sql FROM sqlite_schema ORDER BY name');
  const tables = schema.filter(({ sql }) => /^create table/i.test(String(sql))).map(({ name }) => String(name));
  const counts = tables.map((name) => rows(`SELECT '${name}', count(*) FROM "${name}"`));
  const events = rows('SELECT type, resource FROM events ORDER BY id');
  const migrations = rows('SELECT name, additive FROM schema_migrations ORDER BY id');
  database.close();
  return { schema, counts, events, migrations };
}
