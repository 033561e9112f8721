/** The feed: pages and streams of events, on SQLite. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventFeed, type Progress } from '../../src/platform/events/feed.ts';
import { toEventId } from '../../src/platform/events/stored-event.ts';
import { toAccountId } from '../../src/platform/rpc/caller.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';
import type { Store } from '../../src/schema.ts';
import { newCategory, newPet } from '../storage/suite/database.ts';
import { createTestStore } from '../support/machine/database.ts';
import { CONTEXT } from '../support/service/call.ts';
import { fresh, type SharedBy } from '../support/service/sharing.ts';

const test = fresh(undefined, async (t) => {
  const store = await createTestStore(t);
  /** How often the table has been read. */
  const reads = { count: 0, isAway: false, before: async () => 0 };
  const counted: Store['events'] = {
    ...store.events,
    after: async (...args) => {
      reads.count += 1;
      await reads.before();
      if (reads.isAway) throw new StoreUnavailable('away');
      return store.events.after(...args);
    },
  };
  const failures: unknown[] = [];
  const feed = new EventFeed(counted, (error) => failures.push(error));
  return { store, feed, reads, failures };
});
type Context = SharedBy<typeof test>;
test.afterEach.always((t) => t.true(t.context.failures.every((error) => error instanceof StoreUnavailable)));

/** A stream that is read by hand. */
function follow(feed: EventFeed, after?: bigint, account = 1n) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const caller = { accountId: toAccountId(account) };
  const call = { caller, onClose: (listener: () => void) => void closed.then(listener) };
  const stream = feed.follow(call, after === undefined ? undefined : toEventId(after), []);
  return {
    async next(): Promise<Progress> {
      const { value, done } = await stream.next();
      if (done === true) throw new Error('the stream has ended');
      return value;
    },
    async ids(count: number): Promise<number[]> {
      const ids: number[] = [];
      while (ids.length < count) ids.push(...(await this.next()).events.map(({ id }) => Number(id)));
      return ids;
    },
    async end(): Promise<void> {
      close();
      await stream.return();
    },
  };
}

async function addMany({ store, feed }: Context, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await newCategory(store, `${index}`);
  feed.noteWrite();
}

test('Page - of certain types looks through a bounded number of events, and says where to go on', async (t) => {
  const { feed, store, reads } = t.context;
  await addMany(t.context, 600);
  await newPet(store);
  let [after, pages, found] = [toEventId(0n), 0, 0];
  for (let next: typeof after | undefined = after; next !== undefined; pages += 1) {
    const page = await feed.page(CONTEXT, next, ['pet.created'], 10);
    found += page.events.length;
    [after, next] = [next, page.next];
  }
  t.deepEqual([found, pages], [1, 2]);
  // They are deleted before they are read.
  reads.before = () => store.transaction((tx) => tx.events.deleteOldest(10, Date.now() + 1_000, 0));
  await t.throwsAsync(feed.page(CONTEXT, toEventId(1n), [], 10), { code: 'EVENTS_EXPIRED' });
});

test('Streams - a thousand of them read the table no more often than one, and share the events', async (t) => {
  const { feed, reads } = t.context;
  const streams = Array.from({ length: 1_000 }, () => follow(feed));
  for (const stream of streams) await stream.next();
  const before = reads.count;
  await addMany(t.context, 1);
  const all = await Promise.all(streams.map((stream) => stream.next()));
  t.true(reads.count - before < 10, `${reads.count - before}`);
  const [first] = all;
  for (const { events } of all) t.is(events[0], first?.events[0]);
  await Promise.all(streams.map((stream) => stream.end()));
});

test('Streams - those of an account that begin with the oldest event share pages, and take 50 a second', async (t) => {
  const { feed, reads } = t.context;
  await addMany(t.context, 1_200); // these come before what is kept
  const streams = Array.from({ length: 10 }, () => follow(feed, 0n));
  const before = reads.count;
  const beganMs = performance.now();
  const all = await Promise.all(streams.map((stream) => stream.ids(1_200)));
  const [turns, tookMs] = [10 * 12, performance.now() - beganMs];
  t.true(reads.count - before < 60, `${reads.count - before} reads for ${turns} pages`);
  t.true(tookMs > (turns - 1) * 19, `${tookMs} ms`);
  for (const ids of all) t.deepEqual(ids, all[0]);
  await Promise.all(streams.map((stream) => stream.end()));
});

test('Streams - one that reads a burst of the largest events has them without pages', async (t) => {
  const { store, feed, reads } = t.context;
  const stream = follow(feed);
  await stream.next();
  const before = reads.count;
  const description = '\u0001'.repeat(2_000);
  await store.transaction(async ({ categories }) => {
    for (let index = 0; index < 300; index += 1) await categories.insert({ name: `${index}`, description });
  });
  feed.noteWrite();
  await delay(500); // the loop has read them all
  t.is((await stream.ids(300)).length, 300);
  t.true(reads.count - before < 150, `${reads.count - before} reads`);
  await stream.end();
});

test('Streams - many that begin with the oldest event leave the server to others', async (t) => {
  const { feed, reads } = t.context;
  await addMany(t.context, 1_000);
  const streams = Array.from({ length: 100 }, (_, account) => follow(feed, 0n, BigInt(account)));
  const before = reads.count;
  const beganMs = performance.now();
  const reading = Promise.all(streams.map((stream) => stream.ids(1_000)));
  await delay(500);
  const perSecond = ((reads.count - before) * 1_000) / (performance.now() - beganMs);
  t.true(perSecond < 250, `${perSecond} pages a second`);
  for (const ids of await reading) t.is(ids.length, 1_000);
  await Promise.all(streams.map((stream) => stream.end()));
});

test('Streams - stay open while the database is away, which is reported once, and go on after it', async (t) => {
  const { feed, reads, failures } = t.context;
  await addMany(t.context, 50);
  const first51 = Array.from({ length: 51 }, (_, index) => index + 1);
  const [now, behind] = [follow(feed), follow(feed, 0n)];
  await Promise.all([now.next(), behind.next()]);
  for (const outages of [1, 2]) {
    reads.isAway = true;
    const next = Promise.all([now.ids(1), behind.ids(outages === 1 ? 51 : 1)]);
    await addMany(t.context, 1);
    await delay(300);
    t.is(failures.length, outages);
    reads.isAway = false;
    const [fromNow, fromBehind] = await next;
    t.deepEqual([fromNow, fromBehind], [[50 + outages], outages === 1 ? first51 : [52]]);
  }
  await Promise.all([now.end(), behind.end()]);
});

test('Streams - have their heartbeats while the database hangs, and then miss and repeat nothing', async (t) => {
  const { feed, reads } = t.context;
  await addMany(t.context, 50);
  const [now, behind] = [follow(feed), follow(feed, 0n)];
  t.deepEqual([(await now.next()).events, (await behind.next()).events], [[], []]);
  const [hung, hangs] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  reads.before = () => {
    hangs.resolve();
    return hung.promise;
  };
  await hangs.promise; // no read from before is in progress
  const heartbeats = Promise.all([now.next(), behind.next()]);
  await addMany(t.context, 1);
  const seen = (await heartbeats).map(({ events }) => events);
  t.deepEqual(seen, [[], []]);
  hung.resolve(0);
  t.deepEqual([await now.ids(1), (await behind.ids(51)).length], [[51], 51]);
  await Promise.all([now.end(), behind.end()]);
});

test('Streams - however much is written, the table is read a hundred times a second at most', async (t) => {
  const { feed, reads } = t.context;
  const stream = follow(feed);
  await stream.next();
  const [beganMs, before] = [performance.now(), reads.count];
  while (performance.now() < beganMs + 1_000) await addMany(t.context, 1);
  const mayBe = (performance.now() - beganMs) / 9 + 2; // a timer may fire a millisecond early
  t.true(reads.count - before <= mayBe, `${reads.count - before} reads, ${mayBe} at most`);
  await stream.end();
});
