/** Fail-overs of PostgreSQL between two real servers: roles, the ids of events, commits that wait for a standby. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { EventFeed } from '../../src/platform/events/feed.ts';
import { type EventId, START, toEventId } from '../../src/platform/events/model.ts';
import { openPostgres, type PostgresOptions } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/storage/store.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { haproxyPostgres } from '../proxies/proxies.ts';
import { holding, postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { newCategory } from './suite/database.ts';

const test = sharing<unknown>(postgresMissing, async () => undefined).serial;

/** A primary, a standby of it, and the address that leads to the primary. */
async function startPair(t: ExecutionContext) {
  const primary = await startPostgres(t, ['fsync=off']);
  const standby = await startPostgres(t, ['fsync=off'], primary.url);
  const proxy = await openProxy(t, Number(new URL(primary.url).port));
  const url = Object.assign(new URL(primary.url), { port: String(proxy.port) }).href;
  const open = async (options?: PostgresOptions) => {
    const store: Store = createStore(await openPostgres(url, MIGRATIONS, options), TABLES);
    t.teardown(() => store.close());
    return store;
  };
  /** Resolves when the standby has all that the primary has. */
  const copied = async () => {
    const rows = await query(primary.url, 'SELECT pg_current_wal_lsn() AS lsn');
    const sql = `SELECT pg_last_wal_replay_lsn() >= '${rows[0]?.lsn}' AS done`;
    await until(async () => (await query(standby.url, sql))[0]?.done, 'the copy');
  };
  /** The address leads to the standby from now on, which is the primary. */
  const failOver = async () => {
    await standby.promote();
    await until(async () => (await query(standby.url, 'SELECT pg_is_in_recovery() AS is'))[0]?.is === false, 'role');
    proxy.targetPort = Number(new URL(standby.url).port);
    proxy.cut();
  };
  return { primary, standby, proxy, url, open, copied, failOver };
}

async function write(store: Store, count = 1): Promise<void> {
  for (let i = 0; i < count; i += 1) await until(() => newCategory(store).catch(() => undefined), 'a write');
}

const idsOf = async (feed: EventFeed, after: EventId) =>
  (await feed.page(after, [], 100)).events.map(({ id }) => Number(id));

test('Fail-over - who has seen a lost id below one that is kept is told, too', async (t) => {
  const { primary, standby, open, copied, failOver } = await startPair(t);
  const store = await open();
  await write(store, 2);
  await query(primary.url, 'UPDATE events SET time_ms = time_ms - 600000'); // the shop was quiet
  const late = await holding(primary.url, "BEGIN; INSERT INTO categories (name) VALUES ('late')");
  await write(store, 2);
  await copied();
  await standby.kill();
  await late.query('COMMIT'); // a reader has 3 then, which is lost, and 4 and 5, which are not
  await late.end();
  await primary.kill();
  await standby.start();
  await failOver();
  await write(store);
  const feed = new EventFeed(store.events, () => undefined);
  for (const seen of [3n, 4n, 5n]) {
    await t.throwsAsync(feed.page(toEventId(seen), [], 10), { code: 'EVENT_NOT_REACHED' });
  }
  t.is((await idsOf(feed, toEventId(2n))).length, 3);
  t.deepEqual((await idsOf(feed, START)).slice(0, 2), [1, 2], 'a new reader has all');
  t.is((await idsOf(feed, START)).length, 5);
});

test('Switch-over - no connection stays on a server that has become a standby, to read or to write', async (t) => {
  const { primary, standby, proxy, open, copied, failOver } = await startPair(t);
  const store = await open();
  await write(store, 1);
  await copied();
  await failOver();
  // As a proxy whose check is late: it leads to the new standby, which was the primary.
  await primary.kill();
  const former = await startPostgres(t, ['fsync=off'], standby.url);
  proxy.targetPort = Number(new URL(former.url).port);
  proxy.cut();
  await t.throwsAsync(store.events.bounds(), { instanceOf: StoreUnavailable, message: /standby/ });
  await t.throwsAsync(newCategory(store), { instanceOf: StoreUnavailable });
  await t.throwsAsync(open(), { instanceOf: StoreUnavailable, message: /standby/ }, 'a start waits for a primary');
  proxy.targetPort = Number(new URL(standby.url).port);
  await write(store, 1);
  t.true((await store.events.bounds()).newest > 0n);
});

testUnless(postgresMissing ?? haproxyPostgres.missing)(
  'HAProxy - leads to the primary, and ends the connections to a former one',
  async (t) => {
    t.timeout(180_000);
    const { primary, standby, copied } = await startPair(t);
    await query(primary.url, 'CREATE ROLE haproxy LOGIN');
    await copied();
    const port = await haproxyPostgres.start(t, primary.url, standby.url);
    const url = Object.assign(new URL(primary.url), { port: String(port) }).href;
    const store = createStore(await openPostgres(url, MIGRATIONS), TABLES);
    t.teardown(() => store.close());
    await write(store, 3);
    const before = await store.categories.page({ after: 0n, limit: 10 });
    await copied();
    // A switch-over: the primary stops, the standby is promoted, and the former primary follows it.
    await primary.kill();
    await standby.promote();
    await primary.follow(standby.url);
    await write(store, 3);
    // While HAProxy still leads to the former primary a read fails. It never has an old state.
    let answered = 0;
    const read = async () => (await store.categories.page({ after: 0n, limit: 10 })).rows.length;
    await until(async () => {
      const found = await read().catch(() => undefined);
      if (found === undefined) return false;
      t.true(found >= before.rows.length + 3, 'a read has what was written before');
      answered += 1;
      return answered >= 50;
    }, 'reads');
    const on = "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name = 'petstore'";
    t.is(Number((await query(primary.url, on))[0]?.count), 0, 'no session is left there');
  },
);

test('A standby that is dead, and synchronous - commits that wait take no more than their connections', async (t) => {
  const { primary, standby, open } = await startPair(t);
  const connections = 5;
  const store = await open({ connections });
  await write(store, 1);
  await standby.kill();
  await query(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await query(primary.url, 'SELECT pg_reload_conf()');
  const endMs = performance.now() + 20_000;
  const writing = Array.from({ length: 20 }, async () => {
    while (performance.now() < endMs) await newCategory(store).catch(() => delay(50));
  });
  let most = 0;
  const used =
    "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name <> '' AND pid <> pg_backend_pid()";
  while (performance.now() < endMs) {
    most = Math.max(most, Number((await query(primary.url, used))[0]?.count));
    await delay(200);
  }
  t.true(most <= connections + 1, `${most} sessions, and one that looks them up among them`);
  t.true((await store.events.bounds()).newest > 0n, 'reads go on');
  await query(primary.url, 'ALTER SYSTEM RESET synchronous_standby_names');
  await query(primary.url, 'SELECT pg_reload_conf()');
  await Promise.all(writing);
  await until(() => newCategory(store).catch(() => undefined), 'writes');
});
