/** The order of events on PostgreSQL, where a transaction takes ids before it commits. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { EventFeed } from '../../src/platform/events/feed.ts';
import { SettledEvents } from '../../src/platform/events/settled.ts';
import { toEventId } from '../../src/platform/events/stored-event.ts';
import { openPostgres } from '../../src/platform/storage/postgres.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import { createStore } from '../../src/platform/tables/store.ts';
import { MIGRATIONS, TABLES } from '../../src/schema.ts';
import { eventsOf, newCategory } from '../storage/suite/database.ts';
import { holding, postgresMissing, startPostgres, type TestPostgres } from '../support/machine/postgres.ts';
import { CONTEXT } from '../support/service/call.ts';
import { fresh, type SharedBy, sharing } from '../support/service/sharing.ts';

const START = toEventId(0n);

sharing(postgresMissing, (t) => startPostgres(t, ['max_connections=100']));
const test = fresh(postgresMissing, async (t, server: TestPostgres) => {
  const url = await server.createDatabase();
  const store = createStore(await openPostgres(url, MIGRATIONS), TABLES);
  t.teardown(() => store.close());
  /** Opens another connection. It is closed at the end of the test. */
  const connect = async () => {
    const client = await holding(url);
    client.on('error', () => undefined); // a test ends it
    t.teardown(() => client.end().catch(() => undefined));
    return client;
  };
  return { store, settled: new SettledEvents(store.events), connect };
});
type Context = SharedBy<typeof test>;

/** Begins a transaction that has taken an event's id, and returns the connection. */
async function takeId(connect: Context['connect']): Promise<Client> {
  const client = await connect();
  await client.query("BEGIN; INSERT INTO categories (name) VALUES ('late')");
  return client;
}

const idsOf = (events: readonly { readonly id: bigint }[] = []) => events.map(({ id }) => Number(id));

async function idsAfter(settled: SettledEvents, after = START): Promise<number[]> {
  return idsOf((await settled.after({ after, limit: 100 })).rows);
}

const add = ({ store }: Context) => newCategory(store);

test('Gap - later transactions, however many, do not delay what an earlier one leaves', async (t) => {
  const { settled, connect } = t.context;
  const late = await takeId(connect);
  await add(t.context);
  t.deepEqual(await idsAfter(settled), []);
  const later = await takeId(connect);
  await late.query('ROLLBACK');
  t.deepEqual(await idsAfter(settled), [2]); // 3 is the later one's
  await add(t.context);
  t.deepEqual(await idsAfter(settled), [2]);
  await later.query('COMMIT');
  t.deepEqual(await idsAfter(settled), [2, 3, 4]);
});

test('Page - one without a next has all that was there when it was asked for, however busy writers are', async (t) => {
  const { store, connect } = t.context;
  const feed = new EventFeed(store.events, () => undefined);
  let [isDone, written] = [false, 0];
  const clients = await Promise.all(Array.from({ length: 4 }, connect));
  const writers = clients.map(async (client, index) => {
    for (let round = 0; !isDone; round += 1) {
      await client.query("BEGIN; INSERT INTO categories (name) VALUES ('a')");
      await delay(5 * index);
      await client.query(round % 3 === index % 3 ? 'ROLLBACK' : 'COMMIT');
      written += 1;
    }
  });
  for (let [pages, last] = [0, START]; pages < 6; pages += 1) {
    await delay(150); // nobody reads meanwhile
    const there = (await eventsOf(store)).at(-1)?.id ?? START;
    for (let next: bigint | undefined = last; next !== undefined; ) {
      const page = await feed.page(CONTEXT, toEventId(next), [], 100);
      [last, next] = [page.events.at(-1)?.id ?? last, page.next];
    }
    t.true(last >= there, `${last} of ${there}, ${written} written`);
  }
  isDone = true;
  await Promise.all(writers);
});

test('Page - what a long transaction holds back is behind a next, which comes within a second', async (t) => {
  const { store, connect } = t.context;
  const feed = new EventFeed(store.events, () => undefined);
  const late = await takeId(connect);
  await add(t.context);
  await t.throwsAsync(feed.page(CONTEXT, START, [], 100), { instanceOf: StoreUnavailable });
  await late.query('ROLLBACK');
  t.deepEqual(idsOf((await feed.page(CONTEXT, START, [], 100)).events), [2]);
  const later = await takeId(connect);
  await add(t.context);
  const after = toEventId(2n);
  t.deepEqual(await feed.page(CONTEXT, after, [], 100), { events: [], next: after });
  await later.query('COMMIT');
  const { events, next } = await feed.page(CONTEXT, after, [], 100);
  t.deepEqual([idsOf(events), next], [[3, 4], undefined]);
});

test('Gap - one that stays open is looked at ever less, and passed soon after its end', async (t) => {
  const { store, connect } = t.context;
  let asked = 0;
  const writers = () => {
    asked += 1;
    return store.events.writers();
  };
  const feed = new EventFeed({ ...store.events, writers }, () => undefined);
  const stream = feed.follow({ ...CONTEXT, onClose: () => undefined }, undefined, []);
  await stream.next();
  const late = await takeId(connect);
  await add(t.context);
  const next = stream.next();
  await delay(3_000);
  t.true(asked > 5 && asked < 60, `${asked} times in 3 s`);
  await late.query('ROLLBACK');
  t.deepEqual(idsOf((await next).value?.events), [2]);
  await stream.return();
});

test('SQL by hand - under another search_path is recorded too', async (t) => {
  const client = await t.context.connect();
  await client.query("SET search_path = ''; INSERT INTO public.categories (name) VALUES ('by hand')");
  t.deepEqual(await idsAfter(t.context.settled), [1]);
});

test('Gap - a long transaction that changes nothing of the shop, such as a backup, delays nobody', async (t) => {
  const { settled, connect } = t.context;
  const [backup, report] = [await connect(), await connect()];
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM events; SELECT count(*) FROM pets');
  await report.query('BEGIN; CREATE TABLE report (n int); INSERT INTO report VALUES (1)'); // it has a transaction id
  const late = await takeId(connect);
  await add(t.context);
  t.deepEqual(await idsAfter(settled), []);
  await late.query('ROLLBACK');
  t.deepEqual(await idsAfter(settled), [2]);
});

test('Gap - who has read it before another found it filled does not pass it', async (t) => {
  const { store, connect } = t.context;
  const [hasRead, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const settled = new SettledEvents({
    ...store.events,
    async after(...page) {
      const isSlow = isFirst;
      isFirst = false;
      const events = await store.events.after(...page);
      hasRead.resolve();
      if (isSlow) await mayGoOn.promise;
      return events;
    },
  });
  await add(t.context);
  const late = await takeId(connect);
  await add(t.context);
  const slow = idsAfter(settled);
  await hasRead.promise;
  await late.query('COMMIT');
  t.deepEqual(await idsAfter(settled), [1, 2, 3]);
  mayGoOn.resolve();
  t.deepEqual(await slow, [1, 2, 3]);
});

test('Gap - an event is not seen before one with a smaller id that is yet to come', async (t) => {
  const { settled, connect } = t.context;
  await add(t.context);
  const late = await takeId(connect);
  for (let count = 0; count < 2; count += 1) await add(t.context);
  t.deepEqual(await idsAfter(settled, toEventId(3n)), [4]);
  for (let look = 0; look < 2; look += 1) t.deepEqual(await idsAfter(settled), [1]);
  await late.query('COMMIT');
  t.deepEqual(await idsAfter(settled), [1, 2, 3, 4]);
});

test('Head - waits for what has been begun, and not for what begins later', async (t) => {
  const { store, connect } = t.context;
  await add(t.context);
  const late = await takeId(connect);
  await add(t.context);
  const hasLooked = Promise.withResolvers<void>();
  const writers = async () => {
    const transactions = await store.events.writers();
    hasLooked.resolve();
    return transactions;
  };
  const head = new SettledEvents({ ...store.events, writers }).head();
  await hasLooked.promise;
  const later = await takeId(connect);
  t.is(await Promise.race([head, delay(100, 'waits')]), 'waits');
  await late.query('COMMIT');
  t.is(await head, toEventId(3n));
  await later.query('COMMIT');
});

test('Head - is refused while a transaction that changes the shop does not end', async (t) => {
  const { store, connect } = t.context;
  await takeId(connect);
  await add(t.context);
  await t.throwsAsync(new SettledEvents(store.events).head(), { instanceOf: StoreUnavailable });
});

test('Order - concurrent writers on several connections: ids ascend, none is missed, none comes twice', async (t) => {
  const { store, settled, connect } = t.context;
  const seen: number[] = [];
  let isDone = false;
  const reader = (async () => {
    for (let last = START; ; ) {
      const wasDone = isDone;
      const { rows } = await settled.after({ after: last, limit: 50 });
      seen.push(...idsOf(rows));
      last = rows.at(-1)?.id ?? last;
      if (wasDone && rows.length === 0) return;
    }
  })();
  const clients = await Promise.all(Array.from({ length: 6 }, connect));
  await Promise.all(
    clients.map(async (client, index) => {
      for (let round = 0; round < 40; round += 1) {
        await client.query("BEGIN; INSERT INTO categories (name) VALUES ('a')");
        await delay((index * round) % 7);
        await client.query(round % 5 === 0 ? 'ROLLBACK' : "INSERT INTO categories (name) VALUES ('b'); COMMIT");
      }
    }),
  );
  isDone = true;
  await reader;
  const all = await eventsOf(store);
  t.is(all.length, 6 * 32 * 2);
  t.deepEqual(seen, idsOf(all));
});

test('Older copy - streams that are ahead of the database end, and new ones begin where it stands', async (t) => {
  const { store, connect } = t.context;
  const feed = new EventFeed(store.events, () => undefined);
  const follow = (after?: bigint) =>
    feed.follow({ ...CONTEXT, onClose: () => undefined }, after === undefined ? undefined : toEventId(after), []);
  for (let count = 0; count < 5; count += 1) await add(t.context);
  const [idle, behind] = [follow(), follow(0n)];
  t.deepEqual((await idle.next()).value, { events: [], upTo: toEventId(5n) });
  await behind.next();
  const next = idle.next();
  const other = await connect();
  await other.query("DELETE FROM events WHERE id > 3; UPDATE event_histories SET name = 'another'");
  await other.query('SELECT adopt_event_history()'); // as the first connection does
  await t.throwsAsync(next, { instanceOf: StoreUnavailable });
  await t.throwsAsync(behind.next(), { instanceOf: StoreUnavailable });
  await t.throwsAsync(follow(5n).next(), { message: /newest event is 3/ });
  const late = await takeId(connect);
  await add(t.context);
  t.deepEqual((await feed.page(CONTEXT, START, [], 10)).events.length, 3, 'what may still fill the gap is waited for');
  await late.query('COMMIT');
  const stream = follow(3n);
  const ids: number[] = [];
  for await (const { events } of stream) if (ids.push(...idsOf(events)) === 2) break;
  t.true(Math.min(...ids) > 1_000_000_000, `${ids}`);
});
