import test from 'ava';
import { sharedReads } from '../../src/platform/tables/shared-reads.ts';
import { until } from '../support/until.ts';

/** Waits for the callbacks of resolved promises. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Reads whose loads the test ends: each key that is found reads its own name. */
function heldReads(maxKeys?: number) {
  const loads: { keys: readonly number[]; end: (...found: number[]) => void; fail: (error: unknown) => void }[] = [];
  const load = (keys: readonly number[]) => {
    const { promise, resolve, reject } = Promise.withResolvers<(string | undefined)[]>();
    const end = (...found: number[]) => resolve(keys.map((key) => (found.includes(key) ? `row ${key}` : undefined)));
    loads.push({ keys, end, fail: reject });
    return promise;
  };
  return { read: sharedReads(load, undefined, maxKeys), loads };
}

test('Shared reads - keys that arrive during a load share the next one, each key once', async (t) => {
  const { read, loads } = heldReads();
  const first = read(1);
  const others = [2, 3, 2, 1].map(read);
  t.is(loads.length, 1, 'a single key is loaded at once');
  loads[0]?.end();
  t.is(await first, undefined);
  await settle();
  const actual = loads.map(({ keys }) => keys);
  t.deepEqual(actual, [[1], [2, 3, 1]]);
  loads[1]?.end(1, 2);
  const found = ['row 2', undefined, 'row 2', 'row 1'];
  t.deepEqual(await Promise.all(others), found, 'none has the result of the load that began before');
});

test('Shared reads - a load has at most `maxKeys` keys, in the order of the reads', async (t) => {
  const { read, loads } = heldReads(2);
  const keys = [1, 2, 3, 4, 2, 5, 6];
  const reads = keys.map(read);
  for (const wanted of [[1], [2, 3], [4, 2], [5, 6]]) {
    await until(() => loads.length > 0, 'the next load');
    const load = loads.shift();
    t.deepEqual(load?.keys, wanted);
    load?.end(...wanted);
  }
  t.deepEqual(
    await Promise.all(reads),
    keys.map((key) => `row ${key}`),
  );
});

test('Shared reads - a slow load does not block others, which share a load beside it', async (t) => {
  const { read, loads } = heldReads();
  const slow = read(1);
  const others = [read(2), read(3)];
  await until(() => loads.length === 2, 'the load of the waiting keys');
  t.deepEqual(loads[1]?.keys, [2, 3]);
  loads[1]?.end(2, 3);
  t.deepEqual(await Promise.all(others), ['row 2', 'row 3']);
  const next = read(4); // waits for nothing
  t.deepEqual(loads[2]?.keys, [4]);
  for (const { keys, end } of loads) end(...keys);
  t.deepEqual(await Promise.all([slow, next]), ['row 1', 'row 4']);
});

test('Shared reads - an error rejects every caller of the load and no other', async (t) => {
  const { read, loads } = heldReads();
  const first = read(1);
  const failing = [2, 2, 3].map(read);
  loads[0]?.end(1);
  t.is(await first, 'row 1');
  await settle();
  const later = read(4);
  const reason = new Error('disk on fire');
  loads[1]?.fail(reason);
  t.deepEqual(await Promise.allSettled(failing), Array(3).fill({ status: 'rejected', reason }));
  await settle();
  loads[2]?.end(4);
  t.is(await later, 'row 4');
  const broken = sharedReads(() => {
    throw reason;
  });
  for (const key of [1, 2]) await t.throwsAsync(broken(key), { is: reason });
});
