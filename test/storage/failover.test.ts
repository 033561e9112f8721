/** Fail-overs of PostgreSQL between two real servers: roles, the ids of events, commits that wait for a standby. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { EventFeed } from '../../src/platform/events/feed.ts';
import { type EventId, START, toEventId } from '../../src/platform/events/stored-event.ts';
import { openPostgres, type PostgresOptions } from '../../src/platform/storage/postgres.ts';
import { createStore } from '../../src/platform/storage/store.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { MIGRATIONS, type Store, TABLES } from '../../src/schema.ts';
import { adapt, haproxyTcp } from '../proxies/proxies.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { freePorts } from '../support/machine/ports.ts';
import { holding, postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { CONTEXT } from '../support/service/call.ts';
import { Program } from '../support/service/process.ts';
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
  (await feed.page(CONTEXT, after, [], 100)).events.map(({ id }) => Number(id));

/** A stream that is open: the ids that it has sent, and how it ends. */
function follow(feed: EventFeed, after: EventId) {
  const ids: number[] = [];
  const read = async () => {
    for await (const { events } of feed.follow({ ...CONTEXT, onClose: () => undefined }, after, [])) {
      ids.push(...events.map(({ id }) => Number(id)));
    }
  };
  return {
    ids,
    ended: read().then(
      () => 'at an end',
      (error: unknown) => error,
    ),
  };
}

test('Fail-over that lost writes - no id is used twice; who is ahead is told, however late', async (t) => {
  const { primary, standby, open, copied, failOver } = await startPair(t);
  const [store, other] = [await open(), await open()];
  const feed = new EventFeed(store.events, () => undefined);
  await write(store, 5);
  await copied();
  const followed = follow(feed, START);
  await standby.kill();
  await write(store, 10); // these are lost
  await until(() => followed.ids.length === 15, 'the events');
  await primary.kill();
  await standby.start();
  await failOver();
  await Promise.all([write(store, 2), write(other, 2)]);
  // Its reader comes back, and learns it then; or it learns it now, if it was ahead of the feed's own loop.
  const end = (await followed.ended) as { readonly code?: string };
  t.true(end instanceof StoreUnavailable || end.code === 'EVENT_NOT_REACHED', String(end));
  const histories = await query(standby.url, 'SELECT skipped_after, skipped_upto FROM event_histories ORDER BY id');
  t.deepEqual([histories.length, Number(histories[1]?.skipped_after)], [2, 5], 'once for all servers');
  const [first = 0] = await idsOf(feed, toEventId(5n));
  t.is(first, Number(histories[1]?.skipped_upto) + 2);
  t.deepEqual(await idsOf(feed, toEventId(4n)), [5, first, first + 1, first + 2, first + 3], 'nothing else is missing');
  for (const seen of [6n, 15n, BigInt(first) - 2n]) {
    await t.throwsAsync(feed.page(CONTEXT, toEventId(seen), [], 10), { code: 'EVENT_NOT_REACHED' });
  }
  await query(standby.url, 'INSERT INTO categories (name) SELECT n::text FROM generate_series(1, 1000) AS n');
  await t.throwsAsync(feed.page(CONTEXT, toEventId(15n), [], 10), { code: 'EVENT_NOT_REACHED' }, 'after 1,000 more');
  const late = new EventFeed((await open()).events, () => undefined);
  t.is(((await follow(late, toEventId(15n)).ended) as { code?: string }).code, 'EVENT_NOT_REACHED');
});

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
    await t.throwsAsync(feed.page(CONTEXT, toEventId(seen), [], 10), { code: 'EVENT_NOT_REACHED' });
  }
  t.is((await idsOf(feed, toEventId(2n))).length, 3);
  t.deepEqual((await idsOf(feed, START)).slice(0, 2), [1, 2], 'a new reader has all');
  t.is((await idsOf(feed, START)).length, 5);
});

test('Fail-over that lost nothing - who has read all goes on, and gets only what is new', async (t) => {
  const { primary, open, copied, failOver } = await startPair(t);
  const store = await open();
  await write(store, 3);
  const feed = new EventFeed(store.events, () => undefined);
  await copied();
  await primary.kill();
  await failOver();
  await write(store, 1);
  t.deepEqual((await idsOf(feed, toEventId(3n))).length, 1);
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

testUnless(postgresMissing ?? haproxyTcp.missing)(
  'HAProxy - leads to the primary, and ends the connections to a former one',
  async (t) => {
    t.timeout(180_000);
    const { primary, standby, copied } = await startPair(t);
    await query(primary.url, 'CREATE ROLE haproxy LOGIN');
    await copied();
    const [port = 0] = await freePorts(1);
    const file = join(temporaryFolder(t), 'haproxy.cfg');
    await adapt('haproxy-postgres.cfg', file, {
      'bind 127.0.0.1:5432': `bind 127.0.0.1:${port}`,
      '10.0.0.21:5432': new URL(primary.url).host,
      '10.0.0.22:5432': new URL(standby.url).host,
    });
    const proxy = new Program(haproxyTcp.program, ['-db', '-f', file]);
    t.teardown(() => proxy.end('SIGTERM'));
    const url = Object.assign(new URL(primary.url), { port: String(port) }).href;
    // It leads to both until it has asked them.
    const isStandby = () => query(url, 'SELECT pg_is_in_recovery() AS standby').catch(() => []);
    await until(async () => {
      const all = await Promise.all(Array.from({ length: 10 }, isStandby));
      return all.every(([row]) => row?.standby === false);
    }, 'HAProxy');
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
