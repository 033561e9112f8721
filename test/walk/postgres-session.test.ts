/** The walk of one session: each step of a transaction on a connection to PostgreSQL fails once, in each way. */
import type { ExecutionContext } from 'ava';
import { openPostgres, type PostgresOptions } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { CATS } from '../storage/suite/database.ts';
import {
  holding,
  pgbouncerMissing,
  postgresMissing,
  startPgBouncer,
  startPostgres,
  type TestPostgres,
} from '../support/machine/postgres.ts';
import { sharing, testUnless } from '../support/service/sharing.ts';
import { openPostgresProxy, WAYS } from './postgres-proxy.ts';
import { walkSteps } from './walk.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));

/** What a session keeps silent about takes 7.5 s each. */
const HEARD = WAYS.filter((way) => !way.startsWith('holds'));

/** How many categories with a name each stores, and how. */
const WORKS: readonly { readonly whole: number; readonly run: (store: Store, name: string) => Promise<unknown> }[] = [
  {
    whole: 3,
    run: (store, name) =>
      store.transaction(async ({ categories }) => {
        for (let count = 0; count < 3; count += 1) await categories.insert({ ...CATS, name });
      }),
  },
  { whole: 1, run: (store, name) => store.write(({ categories }) => categories.insert({ ...CATS, name })) },
  {
    whole: 0,
    run: (store, name) =>
      store.transaction(async ({ categories }) => {
        await categories.insert({ ...CATS, name });
        throw new Error('changed my mind');
      }),
  },
];

async function openProxied(t: ExecutionContext<unknown>, there: string, options: PostgresOptions, kinds?: string[]) {
  const url = new URL(there);
  const proxy = await openPostgresProxy(t, Number(url.port), kinds);
  url.port = String(proxy.port);
  const store = createStore(await openPostgres(url.href, MIGRATIONS, { connections: 2, ...options }), TABLES);
  t.teardown(() => store.close());
  return { proxy, store };
}

// What has failed is not stored, what has succeeded is stored whole, and nothing of the failure is left in the session.
for (const [where, missing] of Object.entries({ PostgreSQL: postgresMissing, PgBouncer: pgbouncerMissing })) {
  testUnless<TestPostgres>(missing)(
    `Session - any step of a transaction on ${where} fails: it is stored whole or not at all, as is the next`,
    async (t) => {
      const database = await t.context.createDatabase();
      const isPooled = where === 'PgBouncer';
      const url = isPooled ? (await startPgBouncer(t, database)).through(database) : database;
      const { proxy, store } = await openProxied(t, url, { isPooled });
      const direct = await holding(database);
      t.teardown(() => direct.end());
      let [total, number] = [0, 0];
      for (const { whole, run } of WORKS) {
        const { failed } = await walkSteps({ ways: HEARD, isWhole: true }, async (step, way) => {
          const name = `name ${number++}`;
          proxy.fail(step, way);
          const [{ status }] = await Promise.allSettled([run(store, name)]);
          const hasSucceeded = status === 'fulfilled';
          const { hasFailed, steps } = proxy.heal();
          await store.write(({ categories }) => categories.insert(CATS));
          const { rows } = await direct.query('SELECT count(*) FROM categories WHERE name = $1', [name]);
          const found = Number(rows[0].count);
          const isUnheard = way === 'closes after' && !hasSucceeded;
          const expected = hasSucceeded || (isUnheard && found > 0) ? whole : 0;
          t.is(found, expected, `${way} at step ${step}: ${steps.at(-1)}`);
          return hasFailed;
        });
        total += failed;
      }
      t.log(`${total} steps have failed`);
    },
  );
}

test('Session - a statement whose first use is behind a BEGIN that fails is prepared at the next', async (t) => {
  const { proxy, store } = await openProxied(t, await t.context.createDatabase(), {}, ['E']);
  const { id } = await store.write(({ categories }) => categories.insert(CATS));
  const lock = () => store.transaction(({ categories }) => categories.lock(id));
  proxy.fail(0, '57014');
  await t.throwsAsync(lock());
  t.true(proxy.heal().hasFailed);
  t.is((await lock())?.id, id);
});
