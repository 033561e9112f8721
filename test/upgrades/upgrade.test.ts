/**
 * From the last release to the next one and back, as docs/operations.md says, while callers order. Before the first
 * release both are trials; afterwards the first of them is the release.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext as Test } from 'ava';
import { startLoad, untilMore } from '../support/calls/load.ts';
import { nextOf } from '../support/calls/rest-client.ts';
import { query } from '../support/machine/postgres.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { Launcher, launcherSettings, type Settings, TestProcess } from '../support/service/process.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { twoReleases } from './two-releases.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
type Body = any;
type SchemaOf = (settings: Settings) => Promise<readonly unknown[]>;

const [CALLERS, ROUNDS] = [4, 40];
/** How long a rolling restart may take on a busy machine, and a restart. */
const [RESTART_MS, UNANSWERED_MS] = [240_000, 90_000];
const STOCK = 5;

/** A caller that sends again what got no answer, with the same key. */
function createCaller(url: string, key: string) {
  let repeats = 0;
  const send = async (method: string, path: string, json?: object): Promise<Response> => {
    const authorization = { authorization: `Bearer ${key}`, 'idempotency-key': crypto.randomUUID() };
    const headers = { ...authorization, 'content-type': 'application/json' };
    const sent = { method, headers, body: json === undefined ? null : JSON.stringify(json) };
    let isRepeated = false;
    const ask = async () => {
      const response = await fetch(url + path, sent).catch(() => undefined);
      // What was deleted may be gone the second time.
      if (response?.ok || (response?.status === 404 && isRepeated)) return response;
      if (response !== undefined && response.status !== 503) throw new Error(`${method} ${path}: ${response.status}`);
      isRepeated = true;
      repeats += 1;
      return delay(100, undefined);
    };
    return until(ask, `an answer to ${method} ${path}`, UNANSWERED_MS);
  };
  const sendJson = async (method: string, path: string, json?: object): Promise<Body> =>
    (await send(method, path, json)).json();
  const readAll = async (path: string) => {
    const rows: Body[] = [];
    for (let next: string | undefined = `${path}?limit=100`; next !== undefined; ) {
      const page: Response = await send('GET', next);
      rows.push(...((await page.json()) as Body[]));
      next = nextOf(page.headers);
    }
    return rows;
  };
  return { send, sendJson, readAll, repeats: () => repeats };
}

/** `anew` are the settings of another, empty store. */
async function upgradeAndGoBack(
  t: Test,
  { anew, schemaOf, ...more }: { readonly anew: Settings; readonly schemaOf: SchemaOf; readonly settings: Settings },
) {
  t.timeout(600_000);
  const { folder, checkOut } = twoReleases(t);
  const settings: Settings = { ...(await launcherSettings(t)), ...more.settings, DEMO_ACCOUNT: 'yes' };
  const start = async () => {
    const launcher = new Launcher(settings, folder);
    t.teardown(() => launcher.end('SIGTERM'));
    return { launcher, ...(await launcher.opened()) };
  };
  checkOut('first');
  let service = await start();
  const { send, sendJson, readAll, repeats } = createCaller(service.url, service.key);
  const { id: categoryId } = await sendJson('POST', '/categories', { name: 'All' });
  const { id: tom } = await sendJson('POST', '/pets', { name: 'Tom', categoryId });
  const made = new Map<number, string>();
  const load = startLoad(CALLERS, async (count) => {
    const { id, name } = await sendJson('POST', '/pets', { name: `Pet ${count}`, categoryId });
    made.set(id, name);
    await send('PUT', `/store/inventory/${id}`, { quantity: STOCK });
    const { id: order } = await sendJson('POST', '/store/orders', { petId: id });
    await send('PATCH', `/store/orders/${order}`, { quantity: 2 });
    await send('GET', `/pets/${id}`);
    await send('DELETE', `/store/orders/${order}`);
    return 'done';
  });
  t.teardown(() => load.stop());
  await untilMore(load, ROUNDS);
  if (settings.INSTANCES !== undefined) {
    checkOut('second');
    service.launcher.process.kill('SIGUSR2');
    await service.launcher.says(/Server 1 migrates the database: 999-color …\n/);
    await service.launcher.says(/Restarted all 2 servers/, RESTART_MS);
    await untilMore(load, ROUNDS);
    t.is(repeats(), 0, 'servers that are replaced one after the other answer each request the first time');
  }
  for (const [release, change] of [
    ['second', { color: 'red' }],
    ['first', { name: 'Rex' }],
    ['second', {}],
  ] as const) {
    t.deepEqual(await service.launcher.end('SIGTERM'), { code: 0, signal: null });
    checkOut(release);
    service = await start();
    await untilMore(load, ROUNDS);
    const { color } = await sendJson('PATCH', `/pets/${tom}`, change);
    t.is(color, release === 'first' ? undefined : 'red', 'it keeps what the older release does not know');
  }
  await load.stop();
  t.log(`${made.size} rounds, ${repeats()} requests were sent again`);
  t.deepEqual([...load.answers.keys()], ['done']);

  made.set(tom, 'Rex');
  const pets = await readAll('/pets');
  const ids = Object.fromEntries(pets.map(({ id, name }) => [id, name]));
  t.deepEqual(ids, Object.fromEntries(made), 'each pet that was answered, once');
  t.is(pets.length, made.size);
  for (const { petId, quantity } of await readAll('/store/inventory')) t.is(quantity, petId === tom ? 0 : STOCK);
  t.deepEqual(await readAll('/store/orders'), []);
  const events = (await readAll('/events')).filter(({ pet }) => pet !== undefined);
  t.is(events.filter(({ type }) => type === 'pet.created').length, made.size);
  const byId = (all: readonly Body[]) => Object.fromEntries(all.map((pet) => [pet.id, pet]));
  t.deepEqual(byId(events.map(({ pet }) => pet)), byId(pets), 'the last event of each pet has it as it is');
  await service.launcher.end('SIGTERM');
  const fresh = { ...settings, ...anew };
  t.like(await new TestProcess('src/migrate-main.ts', fresh, folder).ended, { code: 0 });
  t.deepEqual(await schemaOf(settings), await schemaOf(fresh), 'a migration that is released never changes');
}

test.serial('SQLite - to a release with another field and back, loses nothing that was answered', (t) =>
  upgradeAndGoBack(t, {
    settings: {},
    anew: { DATA_DIR: `${temporaryFolder(t)}/data` },
    schemaOf: async ({ DATA_DIR = '' }) => {
      const database = new DatabaseSync(`${DATA_DIR}/petstore.sqlite`, { readOnly: true });
      const made = database.prepare("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").all();
      database.close();
      return made.map(({ type, name, sql }) => `${type} ${name} ${sql}`).toSorted();
    },
  }),
);

const SCHEMA = `
  SELECT concat_ws(' ', table_name, column_name, data_type, column_default, is_nullable) AS made
  FROM information_schema.columns WHERE table_schema = 'public'
  UNION SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  ORDER BY made`;

testUnless<unknown>(sharedMissing).serial(
  'PostgreSQL - to a release with another field, server by server without a refusal, and back, loses nothing',
  async (t) => {
    // PostgreSQL looks for a deadlock once, after so long: a short migration must take longer.
    const databases = await startShared(t, ['deadlock_timeout=10ms', 'fsync=off']);
    const servers = { INSTANCES: '2', GRPC_PORT: String((await freePorts(2))[0]) };
    await upgradeAndGoBack(t, {
      settings: { ...(await databases.settings()), ...servers },
      anew: { DATABASE_URL: await databases.postgres.createDatabase() },
      schemaOf: async ({ DATABASE_URL = '' }) => (await query(DATABASE_URL, SCHEMA)).map(({ made }) => made),
    });
  },
);
