/** `deploy/backup.ts` and `deploy/restore.ts` with PostgreSQL: its own pg_dump and pg_restore. */
import { dirname, join } from 'node:path';
import { type Context, launch, test as launcherTest } from '../launcher/launch.ts';
import { findProgram } from '../support/find-program.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { RestClient } from '../support/rest-client.ts';
import { backup, run } from './backups.ts';

const HOW = 'NO PG_DUMP FOUND, so nothing of this file is tested: install it (apt-get install postgresql-client)';
const dumpMissing = findProgram(['pg_dump']) === undefined ? HOW : undefined;
const missing = postgresMissing ?? dumpMissing;
const test = missing === undefined ? launcherTest : testUnless<Context>(missing);

test('Backup - a dump of PostgreSQL can be restored into its database and into an empty one', async (t) => {
  const server: TestPostgres = await connectPostgres();
  t.teardown(() => server.stop());
  const settings = { ...t.context.settings, DATABASE_URL: await server.createDatabase(), DEMO_ACCOUNT: 'yes' };
  const folder = join(dirname(t.context.settings.DATA_DIR ?? ''), 'backups');
  const first = launch(t, settings);
  const { url, key } = await first.opened();
  const client = new RestClient(url, key);
  const id = await client.pet();
  const file = await backup(folder, settings);
  const later = await client.category('Later');
  const drill = await run('drill', ['--from', folder], settings);
  t.regex(drill.output, /^categories {2}1 in the backup, 1 served, 2 now\n[\s\S]*can be restored/, drill.errors);
  await first.end('SIGTERM');

  const empty = { ...settings, DATABASE_URL: await server.createDatabase() };
  for (const restoredTo of [settings, empty]) {
    const { code, errors } = await run('restore', [file], restoredTo);
    t.is(code, 0, errors);
    const again = launch(t, restoredTo);
    const restored = new RestClient((await again.opened()).url, key);
    t.is((await restored.get(`/pets?ids=${id}`)).body[0].id, id);
    t.is((await restored.get(`/categories/${later}`)).status, 404);
    t.is((await restored.post('/categories', { name: 'Written after the restore' })).status, 201);
    await again.end('SIGTERM');
  }
});

test('Backup - an unreachable database ends with one line, without the password', async (t) => {
  const { DATA_DIR = '' } = t.context.settings;
  const settings = { ...t.context.settings, DATABASE_URL: 'postgres://petstore:hunter2hunter2@127.0.0.1:1/petstore' };
  const { code, errors } = await run('backup', ['--to', join(dirname(DATA_DIR), 'backups')], settings);
  t.is(code, 1);
  t.regex(errors, /^petstore: pg_dump: error: connection to server .+\n$/);
  t.false(errors.includes('hunter2'));
});
