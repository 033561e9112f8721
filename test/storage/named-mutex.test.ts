import test from 'ava';
import { namedMutex } from '../../src/platform/storage/named-mutex.ts';
import { StoreUnavailable } from '../../src/platform/storage/store-errors.ts';

const BOUNDS = { maxWaiting: 2, maxWaitMs: 60_000 };

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

test('NamedMutex - work runs in the order of arrival; more than may wait is refused', async (t) => {
  const mutex = namedMutex(BOUNDS);
  const { work, begun, end } = heldWork();
  const all = [...'abc'].map((name) => mutex('pet 7', work(name)));
  const message = 'too many calls wait for pet 7';
  await t.throwsAsync(mutex('pet 7', work('d')), { instanceOf: StoreUnavailable, message });
  for (const [index, expected] of ['a', 'ab', 'abc'].entries()) {
    t.is(begun.join(''), expected);
    await end(index);
  }
  await Promise.all(all);
});

test('NamedMutex - work that waits too long is refused; failed work makes room', async (t) => {
  const mutex = namedMutex({ maxWaiting: 3, maxWaitMs: 50 });
  const { work, end } = heldWork();
  const first = mutex('pet 7', work('a'));
  const message = 'pet 7 was not available within 0.05 s';
  await t.throwsAsync(mutex('pet 7', work('b')), { instanceOf: StoreUnavailable, message });
  await end(0);
  await first;
  const failed = mutex('pet 7', () => Promise.reject(new Error('no')));
  await t.throwsAsync(failed, { message: 'no' });
  t.is(await mutex('pet 7', async () => 'let in'), 'let in');
});
