import test from 'ava';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';
import { Lanes, Turns } from '../../src/storage/turns.ts';

const BOUNDS = { maxWaiting: 3, maxWaitMs: 60_000 };

/** Work that goes on until the test ends it, and how much of it has begun. */
function heldWork() {
  const ends: (() => void)[] = [];
  const work = () => new Promise<void>((resolve) => ends.push(resolve));
  return { work, ends };
}

/** Lets what has been resolved take its course. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('Turns - so many are inside at a time, and the others come in the order in which they asked', async (t) => {
  const turns = new Turns({ ...BOUNDS, what: 'a place', atATime: 2 });
  const { work, ends } = heldWork();
  const begun: number[] = [];
  const all = [0, 1, 2, 3].map((index) =>
    turns.use(() => {
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
  t.true(turns.isIdle);
});

test('Turns - one beyond those that may wait is refused at once, and says for what', async (t) => {
  const turns = new Turns({ ...BOUNDS, what: 'a place', atATime: 1 });
  const { work, ends } = heldWork();
  const all = Array.from({ length: 4 }, () => turns.use(work));
  await t.throwsAsync(turns.use(work), { instanceOf: StoreUnavailable, message: 'too many calls wait for a place' });
  for (let index = 0; index < 4; index += 1) {
    ends[index]?.();
    await settle();
  }
  await Promise.all(all);
});

test('Turns - one that waits too long is refused, and the next is let in', async (t) => {
  const turns = new Turns({ what: 'a place', atATime: 1, maxWaiting: 3, maxWaitMs: 50 });
  const { work, ends } = heldWork();
  const first = turns.use(work);
  const message = 'a place was not to be had within 0.05 s';
  await t.throwsAsync(turns.use(work), { instanceOf: StoreUnavailable, message });
  ends[0]?.();
  await first;
  t.is(await turns.use(async () => 'let in'), 'let in');
});

test('Turns - work that fails gives its turn to the next', async (t) => {
  const turns = new Turns({ ...BOUNDS, what: 'a place', atATime: 1 });
  const failing = turns.use(() => Promise.reject(new Error('no')));
  const next = turns.use(async () => 'let in');
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await next, 'let in');
});

test('Turns - with a lower limit nobody is let in until enough have left, with the old one all are', async (t) => {
  const turns = new Turns({ ...BOUNDS, what: 'a place', atATime: 3 });
  const { work, ends } = heldWork();
  const all = Array.from({ length: 6 }, () => turns.use(work));
  await settle();
  t.is(ends.length, 3);
  turns.limit(0); // is 1: somebody must find out when there is room again
  ends[0]?.();
  ends[1]?.();
  await settle();
  t.is(ends.length, 3);
  ends[2]?.();
  await settle();
  t.is(ends.length, 4);
  turns.limit(100);
  await settle();
  t.is(ends.length, 6);
  for (const end of ends) end();
  await Promise.all(all);
});

test('Lanes - those of one name wait for each other, those of others do not', async (t) => {
  const lanes = new Lanes(BOUNDS);
  const { work, ends } = heldWork();
  const held = lanes.use('pet 7', work);
  const waiting = lanes.use('pet 7', async () => 'after');
  t.is(await lanes.use('pet 8', async () => 'meanwhile'), 'meanwhile');
  ends[0]?.();
  await held;
  t.is(await waiting, 'after');
});
