import test from 'ava';
import { batchedLookup, namedReads } from '../../src/storage/shared-reads.ts';
import { until } from '../support/until.ts';

/** Waits for the callbacks of resolved promises. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A look-up whose loads the test ends, with rows of the given ids. */
function heldLookup() {
  const loads: { ids: readonly bigint[]; end: (...ids: bigint[]) => void; fail: (error: unknown) => void }[] = [];
  const find = batchedLookup((ids) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ id: bigint }[]>();
    loads.push({ ids, end: (...found) => resolve(found.map((id) => ({ id }))), fail: reject });
    return promise;
  });
  return { find, loads };
}

test('Batched look-up - ids that arrive during a load share the next one, each id once', async (t) => {
  const { find, loads } = heldLookup();
  const first = find(1n);
  const others = [2n, 3n, 2n, 1n].map(find);
  t.is(loads.length, 1, 'a single id is loaded at once');
  loads[0]?.end();
  t.is(await first, undefined);
  await settle();
  t.deepEqual(
    loads.map(({ ids }) => ids),
    [[1n], [2n, 3n, 1n]],
  );
  loads[1]?.end(1n, 2n);
  const found = [{ id: 2n }, undefined, { id: 2n }, { id: 1n }];
  t.deepEqual(await Promise.all(others), found, 'none has the result of the load that began before');
});

test('Batched look-up - a slow load does not block others, which share a load beside it', async (t) => {
  const { find, loads } = heldLookup();
  const slow = find(1n);
  const others = [find(2n), find(3n)];
  await until(() => loads.length === 2, 'the load of the waiting ids');
  t.deepEqual(loads[1]?.ids, [2n, 3n]);
  loads[1]?.end(2n, 3n);
  t.deepEqual(await Promise.all(others), [{ id: 2n }, { id: 3n }]);
  const next = find(4n); // waits for nothing
  t.deepEqual(loads[2]?.ids, [4n]);
  for (const { ids, end } of loads) end(...ids);
  t.deepEqual(await Promise.all([slow, next]), [{ id: 1n }, { id: 4n }]);
});

test('Batched look-up - an error rejects every caller of the load and no other', async (t) => {
  const { find, loads } = heldLookup();
  const first = find(1n);
  const failing = [2n, 2n, 3n].map(find);
  loads[0]?.end(1n);
  t.deepEqual(await first, { id: 1n });
  await settle();
  const later = find(4n);
  const reason = new Error('disk on fire');
  loads[1]?.fail(reason);
  t.deepEqual(await Promise.allSettled(failing), Array(3).fill({ status: 'rejected', reason }));
  await settle();
  loads[2]?.end(4n);
  t.deepEqual(await later, { id: 4n });
  const broken = batchedLookup(() => {
    throw reason;
  });
  for (const id of [1n, 2n]) await t.throwsAsync(broken(id), { is: reason });
});

test('Named reads - of the same name share the next load, those of others do not wait', async (t) => {
  const loads: { readonly name: string; readonly end: (result: string) => void }[] = [];
  const reads = namedReads<string>();
  const read = (name: string) => reads(name, () => new Promise((end) => loads.push({ name, end })));
  const all = ['a', 'b', 'a', 'a', 'c'].map(read);
  t.deepEqual(
    loads.map(({ name }) => name),
    ['a', 'b', 'c'],
  );
  for (const { name, end } of loads) end(`first ${name}`);
  await all[0];
  await settle();
  t.is(loads.length, 4);
  loads[3]?.end('second a');
  t.deepEqual(await Promise.all(all), ['first a', 'first b', 'second a', 'second a', 'first c']);
  await settle();
  t.is(await reads('a', async () => 'third'), 'third', 'a name is forgotten after its last read');
  await t.throwsAsync(
    reads('a', () => Promise.reject(new Error('away'))),
    { message: 'away' },
  );
  t.is(await reads('a', async () => 'fourth'), 'fourth');
});
