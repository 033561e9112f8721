/** The walks on PostgreSQL. `npm run test:walk` has every step in every way. */
import { ConfigError, readConfig, TemporaryFailure } from '../../src/platform/config/config.ts';
import { createService } from '../../src/service.ts';
import { onPort, postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { temporaryFolder } from '../support/scope.ts';
import { startTestServer } from '../support/service/server.ts';
import { sharing, type TestOf } from '../support/service/sharing.ts';
import { OPERATIONS } from './operations.ts';
import { openPostgresProxy, WAYS } from './postgres-proxy.ts';
import { isCampaign, walkServer, walkSteps } from './walk.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off', 'max_connections=300']));
type Test = TestOf<typeof test>;

const INTERNAL = ['XX000'];
const isHeld = (way: string) => way.startsWith('holds');
/** In the share a statement is one step. */
const KINDS = isCampaign ? undefined : ['', 'Q', 'E'];

async function openProxied(t: Test, kinds?: readonly string[]) {
  const database = await t.context.createDatabase();
  const proxy = await openPostgresProxy(t, Number(new URL(database).port), kinds);
  const through = (url: string) => onPort(url, proxy.port);
  return { database, proxy, through };
}

async function startProxied(t: Test) {
  const { database, proxy, through } = await openProxied(t, KINDS);
  const settings = { DATABASE_URL: through(database), DATABASE_CONNECTIONS: '5', DEMO_ACCOUNT: 'yes' };
  return { server: await startTestServer(t, settings), proxy };
}

test('Walk - any step on PostgreSQL fails once, and nothing is lost, done twice or stuck', async (t) => {
  t.timeout(3_600_000);
  const { server, proxy } = await startProxied(t);
  await walkServer(t, server, { ...proxy, ways: WAYS.filter((way) => !isHeld(way)), internal: INTERNAL });
});

/** A caller waits for 7.5 s or more, so those of all operations wait at the same time. */
for (const [index, operation] of OPERATIONS.entries()) {
  if (!isCampaign && index !== 2) continue;
  test(`Walk - any step on PostgreSQL gets no response: ${operation.name}`, async (t) => {
    t.timeout(3_600_000);
    const { server, proxy } = await startProxied(t);
    await walkServer(t, server, { ...proxy, ways: WAYS.filter(isHeld), internal: INTERNAL, stride: 3 }, [operation]);
  });
}

/** What a start must have made, once. */
const MADE = `SELECT
  (SELECT json_agg(name ORDER BY id) FROM schema_migrations) AS migrations,
  (SELECT json_agg(c ORDER BY c) FROM (SELECT table_name || '.' || column_name AS c FROM information_schema.columns
    WHERE table_schema = 'public') AS columns) AS columns,
  (SELECT json_agg(DISTINCT trigger_name) FROM information_schema.triggers) AS triggers,
  (SELECT json_agg(name) FROM accounts) AS accounts, (SELECT count(*) FROM api_keys) AS keys`;

test('Walk - any step of a start on PostgreSQL fails once, and the next start completes it', async (t) => {
  t.timeout(3_600_000);
  const { database, proxy, through } = await openProxied(t, KINDS);
  /** A start with a new data folder would make another key of the demo account. */
  const start = async (url: string, dataDir: string) => {
    const settings = { DATABASE_URL: through(url), DATABASE_CONNECTIONS: '2', DEMO_ACCOUNT: 'yes', DATA_DIR: dataDir };
    const nowhere = { write: () => undefined };
    await (await createService(readConfig(settings), { log: nowhere, auditLog: nowhere })).close();
  };
  await start(database, temporaryFolder(t));
  const expected = await query(database, MADE);
  const { failed } = await walkSteps({ ways: WAYS, stride: isCampaign ? 1 : 13 }, async (step, way) => {
    if (isCampaign && isHeld(way) && step % 10 > 0) return false; // it takes 20 s
    const [url, dataDir] = [await t.context.createDatabase(), temporaryFolder(t)];
    proxy.fail(step, way);
    const refusal = await start(url, dataDir).catch((error: unknown) => error);
    const { hasFailed, steps } = proxy.heal();
    const where = `${way} at step ${step}: ${steps.at(-1)}`;
    const isExpected = refusal instanceof ConfigError || refusal instanceof TemporaryFailure;
    t.true(refusal === undefined || isExpected || INTERNAL.includes(way), `${where}: ${refusal}`);
    await start(url, dataDir);
    t.deepEqual(await query(url, MADE), expected, where);
    await t.context.dropDatabase(url);
    return hasFailed;
  });
  t.log(`${WAYS.length} ways: ${failed} failures`);
});
