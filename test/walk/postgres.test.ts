/** The walk on PostgreSQL. `npm run test:walk` has every step in every way. */
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { startTestServer } from '../support/service/server.ts';
import { sharing } from '../support/service/sharing.ts';
import { openPostgresProxy, WAYS } from './postgres-proxy.ts';
import { isCampaign, walkServer } from './walk.ts';

const test = sharing(postgresMissing, (t) => startPostgres(t, ['fsync=off']));
const isHeld = (way: string) => way.startsWith('holds');

test('Walk - any step on PostgreSQL fails once, and nothing is lost, done twice or stuck', async (t) => {
  t.timeout(600_000);
  const database = await t.context.createDatabase();
  const proxy = await openPostgresProxy(t, Number(new URL(database).port), isCampaign ? undefined : ['', 'Q', 'E']);
  const DATABASE_URL = Object.assign(new URL(database), { port: String(proxy.port) }).href;
  const server = await startTestServer(t, { DATABASE_URL, DATABASE_CONNECTIONS: '5', DEMO_ACCOUNT: 'yes' });
  const ways = WAYS.filter((way) => !isHeld(way));
  await walkServer(t, server, { ...proxy, ways, internal: ['XX000'] });
});
