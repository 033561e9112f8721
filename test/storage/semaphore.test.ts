import test from 'ava';
import { NamedMutex, Semaphore } from '../../src/storage/semaphore.ts';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';

const BOUNDS = { maxWaiting: 3, maxWaitMs: 60_000 };

/** Work that runs until the test ends it, in any order. Its names, as it begins. */
function heldWork() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  /** Ends the work that began as the nth, and lets other work begin. */
  const end = async (...which: number[]) => {
    for (const index of which) ends[index]?.();
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  return { work, begun, end };
}

test('Semaphore - runs work up to its limit, then in order of arrival; more than may wait is refused', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 2 });
  const { work, begun, end } = heldWork();
  const all = [...'abcde'].map((name) => semaphore.run(work(name)));
  const message = 'too many calls wait for a place';
  await t.throwsAsync(semaphore.run(work('f')), { instanceOf: StoreUnavailable, message });
  t.deepEqual([begun.join(''), semaphore.running, semaphore.waiting], ['ab', 2, 3]);
  await end(1);
  t.is(begun.join(''), 'abc');
  await end(0, 2);
  await end(3, 4);
  await Promise.all(all);
  t.deepEqual([begun.join(''), semaphore.running], ['abcde', 0]);
});

test('Semaphore - work that waits too long is refused; failed work makes room', async (t) => {
  const semaphore = new Semaphore({ what: 'a place', limit: 1, maxWaiting: 3, maxWaitMs: 50 });
  const { work, end } = heldWork();
  const first = semaphore.run(work('a'));
  const message = 'a place was not available within 0.05 s';
  await t.throwsAsync(semaphore.run(work('b')), { instanceOf: StoreUnavailable, message });
  await end(0);
  await first;
  await t.throwsAsync(
    semaphore.run(() => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  t.is(await semaphore.run(async () => 'let in'), 'let in');
});

test('Semaphore - a lowered limit takes effect as work ends, a raised limit at once', async (t) => {
  const semaphore = new Semaphore({ ...BOUNDS, what: 'a place', limit: 3 });
  const { work, begun, end } = heldWork();
  const all = [...'abcdef'].map((name) => semaphore.run(work(name)));
  semaphore.setLimit(0); // acts as 1: one call must find out when the resource is available again
  await end(0, 1);
  t.is(begun.join(''), 'abc');
  await end(2);
  t.is(begun.join(''), 'abcd');
  semaphore.setLimit(100);
  await end();
  t.is(begun.join(''), 'abcdef');
  await end(3, 4, 5);
  await Promise.all(all);
});

test('NamedMutex - work with the same name runs one at a time, work with other names runs concurrently', async (t) => {
  const mutex = new NamedMutex(BOUNDS);
  const { work, begun, end } = heldWork();
  const all = [mutex.run('pet 7', work('a')), mutex.run('pet 7', work('b')), mutex.run('pet 8', work('c'))];
  t.is(begun.join(''), 'ac');
  await end(0, 1);
  t.is(begun.join(''), 'acb');
  await end(2);
  await Promise.all(all);
});
