/** The walk of one session: each step of a transaction on a connection to PostgreSQL fails once, in each way. */
import type { ExecutionContext } from 'ava';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { CATS } from '../storage/suite/database.ts';
import { holding } from '../support/machine/postgres.ts';
import { openPostgresProxy, WAYS } from './postgres-proxy.ts';

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

/**
 * What has failed is not stored, what has succeeded is stored whole, and the next call succeeds: nothing of the failure
 * is left in the session. `through` is the URL of what stands before the database.
 */
export async function walkSessions(t: ExecutionContext, database: string, through?: string): Promise<void> {
  const url = new URL(through ?? database);
  const proxy = await openPostgresProxy(t, Number(url.port));
  url.port = String(proxy.port);
  const options = { isPooled: through !== undefined, connections: 2 };
  const store = createStore(await openPostgres(url.href, MIGRATIONS, options), TABLES);
  t.teardown(() => store.close());
  const direct = await holding(database);
  t.teardown(() => direct.end());
  let [walked, number] = [0, 0];
  for (const { whole, run } of WORKS) {
    for (const way of HEARD) {
      for (let step = 0; ; step += 1) {
        const name = `name ${number++}`;
        proxy.fail(step, way);
        const hasSucceeded = await run(store, name).then(
          () => true,
          () => false,
        );
        const { hasFailed, steps } = proxy.heal();
        await store.write(({ categories }) => categories.insert(CATS));
        const { rows } = await direct.query('SELECT count(*) FROM categories WHERE name = $1', [name]);
        const found = Number(rows[0].count);
        const isUnheard = way === 'closes after' && !hasSucceeded;
        const expected = hasSucceeded || (isUnheard && found > 0) ? whole : 0;
        t.is(found, expected, `${way} at step ${step}: ${steps.at(-1)}`);
        if (!hasFailed) break;
        walked += 1;
      }
    }
  }
  t.log(`${walked} steps have failed`);
}
