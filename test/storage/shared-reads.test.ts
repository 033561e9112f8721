import test from 'ava';
import { sharedReads } from '../../src/platform/tables/shared-reads.ts';
import { until } from '../support/until.ts';

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

test('Shared reads - those that arrive during a load share the next, each key once, a few at a time', async (t) => {
  const { read, loads } = heldReads(2);
  const reads = [1, 2, 2, 3, 1, 4].map(read);
  for (const { keys, found } of [
    { keys: [1], found: [] },
    { keys: [2, 3], found: [2, 3] },
    { keys: [1, 4], found: [1] },
  ]) {
    const load = await until(() => loads.shift(), 'the next load');
    t.deepEqual(load.keys, keys);
    load.end(...found);
  }
  const rows = [undefined, 'row 2', 'row 2', 'row 3', 'row 1', undefined];
  t.deepEqual(await Promise.all(reads), rows, 'none has the result of the load that began before');
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
  const reason = new Error('disk on fire');
  (await until(() => loads[1], 'the next load')).fail(reason);
  t.deepEqual(await Promise.allSettled(failing), Array(3).fill({ status: 'rejected', reason }));
  const later = read(4);
  (await until(() => loads[2], 'the load after it')).end(4);
  t.is(await later, 'row 4');
  const broken = sharedReads(() => {
    throw reason;
  });
  for (const key of [1, 2]) await t.throwsAsync(broken(key), { is: reason });
});
