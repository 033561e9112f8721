import test from 'ava';
import { batchedLookup, namedReads } from '../../src/storage/shared-reads.ts';
import { until } from '../support/until.ts';

interface Load {
  readonly ids: readonly bigint[];
  /** Ends this load with rows of the given ids. */
  readonly end: (...ids: bigint[]) => void;
  readonly fail: (error: unknown) => void;
}

/** A look-up whose loads the test ends. */
function heldLookup() {
  const loads: Load[] = [];
  const find = batchedLookup((ids) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ id: bigint }[]>();
    loads.push({ ids, end: (...found) => resolve(found.map((id) => ({ id }))), fail: reject });
    return promise;
  });
  return { lookup: { find }, loads };
}

/** Waits for the callbacks of resolved promises. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('Batched look-up - a single id is loaded at once', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = lookup.find(7n);
  t.deepEqual(loads[0]?.ids, [7n]);
  loads[0]?.end(7n);
  t.deepEqual(await found, { id: 7n });
});

test('Batched look-up - ids that arrive during a load share the next one, each id once', async (t) => {
  const { lookup, loads } = heldLookup();
  const first = lookup.find(1n);
  const others = [2n, 3n, 2n, 1n].map((id) => lookup.find(id));
  t.is(loads.length, 1);
  loads[0]?.end(1n);
  await first;
  await settle();
  t.deepEqual(
    loads.map(({ ids }) => ids),
    [[1n], [2n, 3n, 1n]],
  );
  loads[1]?.end(1n, 2n, 3n);
  t.deepEqual(
    await Promise.all(others),
    [2n, 3n, 2n, 1n].map((id) => ({ id })),
  );
});

test('Batched look-up - an id never gets the result of a load that began before', async (t) => {
  const { lookup, loads } = heldLookup();
  const before = lookup.find(1n);
  const after = lookup.find(1n); // requested after the first load has begun
  loads[0]?.end();
  t.is(await before, undefined);
  await settle();
  loads[1]?.end(1n);
  t.deepEqual(await after, { id: 1n });
});

test('Batched look-up - a slow load does not block others, which share a load beside it', async (t) => {
  const { lookup, loads } = heldLookup();
  const slow = lookup.find(1n);
  const others = [lookup.find(2n), lookup.find(3n)];
  await until(() => loads.length === 2, 'the load of the waiting ids');
  t.deepEqual(loads[1]?.ids, [2n, 3n]);
  loads[1]?.end(2n, 3n);
  t.deepEqual(await Promise.all(others), [{ id: 2n }, { id: 3n }]);
  const next = lookup.find(4n); // waits for nothing
  t.deepEqual(loads[2]?.ids, [4n]);
  for (const { ids, end } of loads) end(...ids);
  t.deepEqual(await Promise.all([slow, next]), [{ id: 1n }, { id: 4n }]);
});

test('Batched look-up - a missing row is undefined', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = lookup.find(1n);
  loads[0]?.end();
  t.is(await found, undefined);
});

test('Batched look-up - an error rejects every caller of the load and no other', async (t) => {
  const { lookup, loads } = heldLookup();
  const first = lookup.find(1n);
  const failing = [2n, 2n, 3n].map((id) => lookup.find(id));
  loads[0]?.end(1n);
  t.deepEqual(await first, { id: 1n });
  await settle();
  const later = lookup.find(4n);
  const error = new Error('disk on fire');
  loads[1]?.fail(error);
  for (const result of await Promise.allSettled(failing)) {
    t.deepEqual(result, { status: 'rejected', reason: error });
  }
  await settle();
  loads[2]?.end(4n);
  t.deepEqual(await later, { id: 4n });
});

test('Batched look-up - a load that can not begin rejects its callers too', async (t) => {
  const error = new Error('no connection');
  const find = batchedLookup(() => {
    throw error;
  });
  await t.throwsAsync(find(1n), { is: error });
  await t.throwsAsync(find(2n), { is: error });
});

/** Named reads whose loads the test ends. */
function heldReads() {
  const loads: { readonly name: string; readonly end: (result: string) => void; fail(error: unknown): void }[] = [];
  const reads = namedReads<string>();
  const read = (name: string) =>
    reads(name, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      loads.push({ name, end: resolve, fail: reject });
      return promise;
    });
  return { read, loads };
}

test('Named reads - reads that arrive during a load of the same name share the next load', async (t) => {
  const { read, loads } = heldReads();
  const first = read('a');
  const others = [read('a'), read('a')];
  loads[0]?.end('before');
  t.is(await first, 'before');
  await settle();
  t.is(loads.length, 2);
  loads[1]?.end('after');
  t.deepEqual(await Promise.all(others), ['after', 'after']);
});

test('Named reads - reads of different names do not wait for each other', async (t) => {
  const { read, loads } = heldReads();
  const reads = ['a', 'b', 'c', 'd', 'e'].map(read);
  t.deepEqual(
    loads.map(({ name }) => name),
    ['a', 'b', 'c', 'd', 'e'],
  );
  for (const { name, end } of loads) end(`page ${name}`);
  t.deepEqual(await Promise.all(reads), ['page a', 'page b', 'page c', 'page d', 'page e']);
});

test('Named reads - an error rejects all reads that share the load, and the next read loads again', async (t) => {
  const { read, loads } = heldReads();
  const first = read('a');
  const failing = [read('a'), read('a')];
  loads[0]?.end('page');
  await first;
  await settle();
  const error = new Error('disk on fire');
  loads[1]?.fail(error);
  for (const result of await Promise.allSettled(failing)) {
    t.deepEqual(result, { status: 'rejected', reason: error });
  }
  await settle();
  const later = read('a');
  loads[2]?.end('page again');
  t.is(await later, 'page again');
});

test('Named reads - a name is forgotten after its last read, so that names take no memory', async (t) => {
  const read = namedReads<string>();
  t.is(await read('a', async () => 'first'), 'first');
  await settle();
  t.is(await read('a', async () => 'second'), 'second');
});
