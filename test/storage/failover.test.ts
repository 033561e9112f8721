/** Fail-overs of PostgreSQL between two real servers: what the walk of fail-overs can't bring about or see. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventFeed } from '../../src/platform/events/feed.ts';
import { type EventId, START, toEventId } from '../../src/platform/events/stored-event.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import type { Store } from '../../src/schema.ts';
import {
  holding,
  pgbouncerMissing,
  postgresMissing,
  query,
  startPair,
  startPgBouncer,
} from '../support/machine/postgres.ts';
import { CONTEXT } from '../support/service/call.ts';
import { sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { countSessions, openDatabase } from './postgres.ts';
import { newCategory } from './suite/database.ts';

const test = sharing<unknown>(postgresMissing, async () => undefined).serial;

async function write(store: Store, count = 1): Promise<void> {
  for (let i = 0; i < count; i += 1) await until(() => newCategory(store).catch(() => undefined), 'a write');
}

const idsOf = async (feed: EventFeed, after: EventId) =>
  (await feed.page(CONTEXT, after, [], 100)).events.map(({ id }) => Number(id));

test('Fail-over - who has seen a lost id below one that is kept is told, too', async (t) => {
  const { primary, standby, url, copied, promote } = await startPair(t);
  const { store } = await openDatabase(t, url);
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
  await promote();
  await write(store);
  const feed = new EventFeed(store.events, () => undefined);
  for (const seen of [3n, 4n, 5n]) {
    await t.throwsAsync(feed.page(CONTEXT, toEventId(seen), [], 10), { code: 'EVENT_NOT_REACHED' });
  }
  t.is((await idsOf(feed, toEventId(2n))).length, 3);
  t.deepEqual((await idsOf(feed, START)).slice(0, 2), [1, 2], 'a new reader has all');
  t.is((await idsOf(feed, START)).length, 5);
});

test('Switch-over - no connection stays on a server that is no primary any more, to read or to write', async (t) => {
  const pair = await startPair(t);
  const { url, copied, promote, rejoin, lead } = pair;
  const { store } = await openDatabase(t, url);
  const read = () => store.events.bounds();
  await write(store, 1);
  await copied();
  await promote(false); // there are two primaries, and all connections are to the former one
  await Promise.all([read(), read()]); // a further one learns of the new one
  await until(async () => {
    await Promise.allSettled([read(), read(), newCategory(store), newCategory(store)]);
    return (await countSessions(pair.standby.url)) === 0;
  }, 'the end of all sessions on the former primary');
  await pair.standby.kill();
  await rejoin();
  lead(pair.standby); // as a proxy whose check is late
  for (const use of [read, () => newCategory(store), () => openDatabase(t, url)]) {
    const isRefused = (error: unknown) => error instanceof StoreUnavailable && error.message.includes('standby');
    await until(() => use().then(() => t.fail(), isRefused), 'a refusal');
  }
  lead(pair.primary);
  await write(store, 1);
  t.true((await read()).newest > 0n);
});

const WAYS = { 'PostgreSQL itself': undefined, 'PgBouncer in transaction mode': 'transaction' } as const;
for (const [way, mode] of Object.entries({ ...WAYS, 'PgBouncer in session mode': 'session' } as const)) {
  if (mode !== undefined && pgbouncerMissing !== undefined) continue;
  test(`A dead synchronous standby, ${way} - commits that wait take only their connections`, async (t) => {
    const { primary, standby, url, copied, synchronous } = await startPair(t);
    const connections = 5;
    const address = mode === undefined ? url : (await startPgBouncer(t, url, mode)).through(primary.url);
    const { store, warned } = await openDatabase(t, address, { connections, isPooled: mode === 'transaction' });
    await write(store, 1);
    await copied();
    await standby.kill();
    await synchronous(primary);
    const endMs = performance.now() + 20_000;
    const writing = Array.from({ length: 20 }, async () => {
      while (performance.now() < endMs) await newCategory(store).catch(() => delay(50));
    });
    let most = 0;
    while (performance.now() < endMs) {
      most = Math.max(most, await countSessions(primary.url));
      t.true((await store.events.bounds()).newest > 0n, 'reads go on');
      await delay(200);
    }
    t.true(most <= connections + 1, `${most} sessions, and one that looks them up among them`);
    t.deepEqual(warned, []);
    await synchronous(primary, false);
    await Promise.all(writing);
    await write(store, 1);
  });
}
