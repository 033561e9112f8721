/** Every step of a transaction on PostgreSQL. Through PgBouncer: test/storage/pgbouncer.test.ts. */
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { sharing } from '../support/service/sharing.ts';
import { walkSessions } from './postgres-sessions.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));

test('Session - any step of a transaction fails: it is stored whole or not at all, as is the next', async (t) => {
  await walkSessions(t, await t.context.createDatabase());
});
