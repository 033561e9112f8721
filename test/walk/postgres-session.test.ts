/** Every step of a transaction on PostgreSQL. Through PgBouncer: test/storage/pgbouncer.test.ts. */
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { CATS } from '../storage/suite/database.ts';
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { openPostgresProxy } from './postgres-proxy.ts';
import { walkSessions } from './postgres-sessions.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));

test('Session - any step of a transaction fails: it is stored whole or not at all, as is the next', async (t) => {
  await walkSessions(t, await t.context.createDatabase());
});

test('Session - a statement whose first use is behind a BEGIN that fails is prepared at the next', async (t) => {
  const url = new URL(await t.context.createDatabase());
  const proxy = await openPostgresProxy(t, Number(url.port), ['E']);
  url.port = String(proxy.port);
  const store = createStore(await openPostgres(url.href, MIGRATIONS, { connections: 2 }), TABLES);
  t.teardown(() => store.close());
  const { id } = await store.write(({ categories }) => categories.insert(CATS));
  const lock = () => store.transaction(({ categories }) => categories.lock(id));
  proxy.fail(0, '57014');
  await t.throwsAsync(lock());
  t.true(proxy.heal().hasFailed);
  t.is((await lock())?.id, id);
});
