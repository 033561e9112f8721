/** A server whose clock is wrong, beside one whose clock is right. */
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { query } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { startServerProcess } from '../support/service/process.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { until } from '../support/until.ts';

const test = testUnless<unknown>(sharedMissing);

/** Sets the clock of a Node process ahead. */
const AHEAD = { NODE_OPTIONS: '--import data:text/javascript,const%20now=Date.now;Date.now=()=>now()+4e9' }; // 46 days

test('Clock - a server that is days ahead deletes neither idempotency records nor events too early', async (t) => {
  const shared = await startShared(t);
  const folder = temporaryFolder(t);
  const settings = await shared.settings();
  const url = settings.DATABASE_URL ?? '';
  const start = async (more = {}) => (await startServerProcess(t, folder, { ...settings, ...more })).grpc;
  const right = await start();
  await query(url, "INSERT INTO events (type, time_ms, resource) VALUES ('category.deleted', 0, '{}')");
  // The only record so far. What is old comes before what is kept.
  await query(url, "UPDATE idempotency_records SET id = 'old', created_at_ms = 0");
  const create = () =>
    right.exchange(Categories.createCategory, { category: { name: 'Cats' } }, { metadata: { 'idempotency-key': 'a' } });
  const { message: first } = await create();
  await right.category();
  const count = async (what: string) => Number((await query(url, `SELECT count(*) FROM ${what}`))[0]?.count);
  await start(AHEAD);
  await until(async () => (await count("idempotency_records WHERE id = 'old'")) === 0, 'the deletion of what is old');
  await until(async () => (await count('events WHERE time_ms = 0')) === 0, 'that of the events');
  const again = await create();
  t.deepEqual([again.message, again.headers.get('idempotency-replayed')], [first, ['true']]);
  t.is(await count('categories'), 2);
  t.is(await count('events'), 2);
});
