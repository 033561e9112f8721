import test from 'ava';
import { NamedMutex, Semaphore } from '../../src/storage/semaphore.ts';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';

const BOUNDS = { maxWaiting: 3, maxWaitMs: 60_000 };

/** Work that runs until the test ends it. `ends` has a function for each run that has begun. */
function heldWork() {
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => ends.push(resolve));
  return { work, ends };
}

/** Waits for the callbacks of resolved promises. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('Semaphore - runs work up to its limit, and starts the rest in order of arrival', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 2 });
  const { work, ends } = heldWork();
  const begun: number[] = [];
  const all = [0, 1, 2, 3].map((index) =>
    semaphore.run(() => {
      begun.push(index);
      return work();
    }),
  );
  await settle();
  t.deepEqual(begun, [0, 1]);
  ends[1]?.();
  await settle();
  t.deepEqual(begun, [0, 1, 2]);
  ends[0]?.();
  await settle();
  t.deepEqual(begun, [0, 1, 2, 3]);
  for (const end of ends) end();
  await Promise.all(all);
  t.is(semaphore.running, 0);
});

test('Semaphore - work that exceeds the queue is refused at once, with the name of the resource', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 1 });
  const { work, ends } = heldWork();
  const all = Array.from({ length: 4 }, () => semaphore.run(work));
  await t.throwsAsync(semaphore.run(work), {
    instanceOf: StoreUnavailable,
    message: 'too many calls wait for a place',
  });
  for (let index = 0; index < 4; index += 1) {
    ends[index]?.();
    await settle();
  }
  await Promise.all(all);
});

test('Semaphore - work that waits too long is refused, and later work runs', async (t) => {
  const semaphore = new Semaphore({ what: 'a place', limit: 1, maxWaiting: 3, maxWaitMs: 50 });
  const { work, ends } = heldWork();
  const first = semaphore.run(work);
  const message = 'a place was not available within 0.05 s';
  await t.throwsAsync(semaphore.run(work), { instanceOf: StoreUnavailable, message });
  ends[0]?.();
  await first;
  t.is(await semaphore.run(async () => 'let in'), 'let in');
});

test('Semaphore - failed work releases its slot', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 1 });
  const failing = semaphore.run(() => Promise.reject(new Error('no')));
  const next = semaphore.run(async () => 'let in');
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await next, 'let in');
});

test('Semaphore - a lowered limit takes effect as work ends, a raised limit at once', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 3 });
  const { work, ends } = heldWork();
  const all = Array.from({ length: 6 }, () => semaphore.run(work));
  await settle();
  t.is(ends.length, 3);
  semaphore.setLimit(0); // acts as 1: one call must find out when the resource is available again
  ends[0]?.();
  ends[1]?.();
  await settle();
  t.is(ends.length, 3);
  ends[2]?.();
  await settle();
  t.is(ends.length, 4);
  semaphore.setLimit(100);
  await settle();
  t.is(ends.length, 6);
  for (const end of ends) end();
  await Promise.all(all);
});

test('NamedMutex - work with the same name runs one at a time, work with other names runs concurrently', async (t) => {
  const mutex = new NamedMutex(BOUNDS);
  const { work, ends } = heldWork();
  const held = mutex.run('pet 7', work);
  const waiting = mutex.run('pet 7', async () => 'after');
  t.is(await mutex.run('pet 8', async () => 'meanwhile'), 'meanwhile');
  ends[0]?.();
  await held;
  t.is(await waiting, 'after');
});
