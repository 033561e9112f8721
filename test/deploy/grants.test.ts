/** deploy/grants.sql: a user who owns the tables, and one for the servers. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { generateKey, hashKey } from '../../src/platform/access/keys/format.ts';
import { ConfigError } from '../../src/platform/config/config.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { sh } from '../support/machine/find-program.ts';
import { query, startPostgres } from '../support/machine/postgres.ts';
import { noOpenssl } from '../support/machine/tls.ts';
import { temporaryFolder } from '../support/scope.ts';
import { startServerProcess } from '../support/service/process.ts';
import { testUnless } from '../support/service/sharing.ts';
import { backup, dumpsMissing, run, succeeds } from './backups.ts';

const test = testUnless<unknown>(dumpsMissing);

test('Grants - the servers work with them, before and after a restore, and may not change the schema', async (t) => {
  const postgres = await startPostgres(t);
  const folder = temporaryFolder(t);
  const admin = await postgres.createDatabase();
  const name = new URL(admin).pathname.slice(1);
  const as = (user: string) => Object.assign(new URL(admin), { username: user }).href;
  await query(admin, `CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE shop LOGIN; ALTER DATABASE ${name} OWNER TO owner`);
  const migrate = async () => (await openPostgres(as('owner'), MIGRATIONS)).close();
  const open = async () => (await openPostgres(as('shop'), MIGRATIONS, { migrates: false })).close();

  await migrate();
  await query(admin, 'CREATE EXTENSION pg_stat_statements; CREATE PUBLICATION copies FOR ALL TABLES'); // a superuser's
  const lacks =
    /^the user of DATABASE_URL lacks rights on accounts, .*schema_migrations.*: .* run deploy\/grants\.sql$/;
  await t.throwsAsync(open(), { instanceOf: ConfigError, message: lacks });
  const sql = new URL('../../deploy/grants.sql', import.meta.url).pathname;
  execFileSync('psql', ['--no-psqlrc', '--quiet', '--set=server=shop', `--file=${sql}`, as('owner')]);
  await open();

  const settings = { DATABASE_URL: as('owner'), DATA_DIR: `${folder}/data` };
  const dump = await backup(`${folder}/backups`, settings);
  const refused = await run('restore', [dump], { ...settings, DATABASE_URL: as('shop') });
  t.regex(refused.errors, /^petstore: permission denied for database \w+\n$/);
  await succeeds(t, run('restore', [dump], settings));
  await succeeds(t, run('drill', ['--from', `${folder}/backups`], settings));
  t.deepEqual(await query(admin, "SELECT FROM pg_database WHERE datname = 'petstore_drill'"), []);
  const key = generateKey();
  const hash = hashKey(key).toString('hex');
  await query(
    as('owner'),
    `INSERT INTO accounts (name, plan, created_at_ms) VALUES ('a', 'business', 1);
     INSERT INTO api_keys (account_id, hash, prefix, created_at_ms) VALUES (1, '\\x${hash}', 'pst_', 1)`,
  );
  mkdirSync(`${folder}/server`, { mode: 0o700 });
  writeFileSync(`${folder}/server/demo.key`, key);
  const ofServer = { DATABASE_URL: as('shop'), MIGRATE_AT_START: 'no' };
  const server = await startServerProcess(t, `${folder}/server`, ofServer);
  const petId = await server.grpc.pet({ stock: 1 });
  t.truthy(await server.grpc.order({ petId, quantity: 1 }));
  const kept = await server.grpc.call(Events.listEvents, { after: 0n, types: ['order.created'] });
  t.is(kept.events.length, 1);
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  t.deepEqual(await query(as('owner'), 'SELECT requests > 0 AS stored FROM usage'), [{ stored: true }]);
  for (const statement of ['DROP TABLE orders', 'CREATE TABLE more (id integer)', 'ALTER TABLE pets ADD more text']) {
    await t.throwsAsync(query(as('shop'), statement), { message: /permission denied|must be owner/ }, statement);
  }

  await query(
    as('owner'),
    `DELETE FROM schema_migrations WHERE name LIKE '009-%'; DROP TABLE events, event_histories;
     DROP FUNCTION adopt_event_history`,
  );
  await migrate();

  for (const right of ['UPDATE ON pets', 'INSERT ON events', 'USAGE ON SEQUENCE events_id_seq']) {
    await query(as('owner'), `REVOKE ${right} FROM shop`);
    const message = new RegExp(`^the user of DATABASE_URL lacks rights on ${right.split(' ').at(-1)}: `);
    await t.throwsAsync(open(), { message }, right);
    await query(as('owner'), `GRANT ${right} TO shop`);
  }
});

testUnless(dumpsMissing ?? noOpenssl)('Compose - the migration owns the tables, servers work without', async (t) => {
  const postgres = await startPostgres(t);
  const folder = `${temporaryFolder(t)}/secrets`;
  await sh(new URL('../../deploy/compose/make-secrets.sh', import.meta.url).pathname, [folder]);
  await query(postgres.url, 'CREATE DATABASE petstore');
  const at = (secret: string) => {
    const url = new URL(readFileSync(`${folder}/${secret}`, 'utf8').trim());
    return Object.assign(url, { hostname: '127.0.0.1', port: new URL(postgres.url).port }).href;
  };
  await query(new URL('/petstore', postgres.url).href, readFileSync(`${folder}/postgres-users.sql`, 'utf8'));
  await (await openPostgres(at('migration-database-url'), MIGRATIONS)).close();
  await (await openPostgres(at('database-url'), MIGRATIONS, { migrates: false })).close();
  await t.throwsAsync(query(at('database-url'), 'CREATE TABLE of_a_server ()'), { message: /permission denied/ });
  await t.throwsAsync(query(at('database-url'), 'DROP TABLE events'), { message: /must be owner/ });
});
