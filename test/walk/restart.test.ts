/**
 * Three servers on PostgreSQL that are restarted one after the other into a release whose migration takes long.
 * `npm run test:walk` lets it take more than the minute that a start may take.
 */

import { type Context, launchForAll } from '../launcher/launch.ts';
import { startLoad, untilMore } from '../support/calls/load.ts';
import { RestClient } from '../support/calls/rest-client.ts';
import { freePortRange } from '../support/machine/ports.ts';
import { query } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { isRunning } from '../support/service/launcher.ts';
import { type Shared, sharedMissing, startShared } from '../support/service/shared.ts';
import { isCampaign } from './walk.ts';

const INSTANCES = 3;
const MIGRATION_S = isCampaign ? 65 : 5;
const CALLERS = 4;

const test = testUnless<Context>(sharedMissing);
let databases: Shared;
let database = '';
const shared = launchForAll(async (_, t) => {
  databases = await startShared(t, ['max_connections=100']);
  const settings = await databases.settings();
  database = settings.DATABASE_URL ?? '';
  return { ...settings, INSTANCES: String(INSTANCES), GRPC_PORT: String(await freePortRange(INSTANCES)) };
}, sharedMissing);

/** This one makes a table that no call of the test uses. That it has run takes long to record, and is counted. */
const SLOW = `
  DELETE FROM schema_migrations WHERE name = '004-idempotency';
  DROP TABLE idempotency_records;
  CREATE SEQUENCE runs;
  CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM nextval('runs'), pg_sleep(${MIGRATION_S}); RETURN new; END $$;
  CREATE TRIGGER slow BEFORE INSERT ON schema_migrations FOR EACH ROW EXECUTE FUNCTION slow()`;

test('Rolling restart - into a migration that takes long, which runs once: no request is lost', async (t) => {
  t.timeout(600_000);
  const { launcher, url, key } = shared;
  const before = await launcher.servers();
  await query(database, SLOW);
  const rest = new RestClient(url, key);
  const load = startLoad(CALLERS, async (count) => {
    const { status } = await (count % 4 === 0 ? rest.post('/categories', { name: 'More' }) : rest.get('/categories'));
    return String(status);
  });
  const startMs = performance.now();
  launcher.process.kill('SIGUSR2');
  await launcher.says(/Server 1 migrates the database: 004-idempotency …\n/);
  await launcher.says(/Restarted all 3 servers\.\n/, 400_000);
  t.true(performance.now() - startMs > MIGRATION_S * 1_000);
  await untilMore(load, 20);
  await load.stop();
  t.deepEqual([...load.answers.keys()].toSorted(), ['200', '201']);
  t.deepEqual(await query(database, 'SELECT last_value AS runs FROM runs'), [{ runs: '1' }]);
  t.false(before.some(isRunning));
  t.notRegex(launcher.output, /killed|Retrying|still has open calls/);
});
