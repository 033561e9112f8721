import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { BatchedLookup, NamedReads } from '../../src/storage/shared-reads.ts';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';
import { until } from '../support/until.ts';

interface Load {
  readonly ids: readonly bigint[];
  /** Ends this load with rows of the given ids. */
  readonly answer: (...ids: bigint[]) => void;
  readonly fail: (error: unknown) => void;
}

/** A look-up whose loads end when the test says so. */
function heldLookup(options?: { readonly nowMs: () => number }) {
  const loads: Load[] = [];
  const lookup = new BatchedLookup((ids) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ id: bigint }[]>();
    loads.push({ ids, answer: (...found) => resolve(found.map((id) => ({ id }))), fail: reject });
    return promise;
  }, options);
  return { lookup, loads };
}

/** Waits for the callbacks of resolved promises. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('Batched look-up - a single one is loaded at once', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = lookup.find(7n);
  t.deepEqual(loads[0]?.ids, [7n]);
  loads[0]?.answer(7n);
  t.deepEqual(await found, { id: 7n });
});

test('Batched look-up - ids that arrive during a load share the next one, each id once', async (t) => {
  const { lookup, loads } = heldLookup();
  const first = lookup.find(1n);
  const others = [2n, 3n, 2n, 1n].map((id) => lookup.find(id));
  t.is(loads.length, 1);
  loads[0]?.answer(1n);
  await first;
  await settle();
  t.deepEqual(
    loads.map(({ ids }) => ids),
    [[1n], [2n, 3n, 1n]],
  );
  loads[1]?.answer(1n, 2n, 3n);
  t.deepEqual(
    await Promise.all(others),
    [2n, 3n, 2n, 1n].map((id) => ({ id })),
  );
});

test('Batched look-up - one never gets the result of an earlier load', async (t) => {
  const { lookup, loads } = heldLookup();
  const before = lookup.find(1n);
  const after = lookup.find(1n); // asked for after the first load has begun
  loads[0]?.answer();
  t.is(await before, undefined);
  await settle();
  loads[1]?.answer(1n);
  t.deepEqual(await after, { id: 1n });
});

test('Batched look-up - others load beside a slow load, in at most three loads', async (t) => {
  const { lookup, loads } = heldLookup();
  const slow: Promise<unknown>[] = [];
  for (const id of [1n, 2n, 3n]) {
    slow.push(lookup.find(id));
    await until(() => loads.length === Number(id), `load ${id}`);
  }
  const last = [lookup.find(4n), lookup.find(5n)];
  await delay(100); // far longer than a load is let alone
  t.is(loads.length, 3);
  loads[1]?.answer(...(loads[1]?.ids ?? []));
  await until(() => loads.length === 4, 'a place for those that wait');
  t.deepEqual(loads[3]?.ids, [4n, 5n]);
  for (const { ids, answer } of loads) answer(...ids);
  t.deepEqual(
    await Promise.all([...slow, ...last]),
    [1n, 2n, 3n, 4n, 5n].map((id) => ({ id })),
  );
});

test('Batched look-up - one that has waited 5 s for slow loads is refused, later ones are not', async (t) => {
  let nowMs = 0;
  const { lookup, loads } = heldLookup({ nowMs: () => nowMs });
  const slow = [1n, 2n, 3n].map(async (id) => {
    await until(() => loads.length >= Number(id) - 1, 'the load before');
    return lookup.find(id);
  });
  await until(() => loads.length === 3, 'three loads at a time');
  const late = lookup.find(4n);
  nowMs = 5_001;
  const soon = lookup.find(5n);
  for (const load of loads.slice(0, 3)) load.answer();
  await t.throwsAsync(late, { instanceOf: StoreUnavailable });
  await until(() => loads.length === 4, 'the next load');
  t.deepEqual(loads[3]?.ids, [5n]);
  loads[3]?.answer(5n);
  t.deepEqual(await soon, { id: 5n });
  await Promise.all(slow);
});

test('Batched look-up - a row that is not there is undefined', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = lookup.find(1n);
  loads[0]?.answer();
  t.is(await found, undefined);
});

test('Batched look-up - an error reaches every caller of the load and no other', async (t) => {
  const { lookup, loads } = heldLookup();
  const first = lookup.find(1n);
  const failing = [2n, 2n, 3n].map((id) => lookup.find(id));
  loads[0]?.answer(1n);
  t.deepEqual(await first, { id: 1n });
  await settle();
  const later = lookup.find(4n);
  const error = new Error('disk on fire');
  loads[1]?.fail(error);
  for (const result of await Promise.allSettled(failing)) {
    t.deepEqual(result, { status: 'rejected', reason: error });
  }
  await settle();
  loads[2]?.answer(4n);
  t.deepEqual(await later, { id: 4n });
});

test('Batched look-up - a load that can not even begin is an error too', async (t) => {
  const error = new Error('no connection');
  const lookup = new BatchedLookup(() => {
    throw error;
  });
  await t.throwsAsync(lookup.find(1n), { is: error });
  await t.throwsAsync(lookup.find(2n), { is: error });
});

test('Batched look-up - no load has more than 500 ids, and none is left out', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = Promise.all(Array.from({ length: 1_234 }, (_, index) => lookup.find(BigInt(index))));
  for (let next = 0; next < loads.length; next += 1) {
    const load = loads[next];
    t.true((load?.ids.length ?? 0) <= 500);
    load?.answer(...load.ids);
    await settle();
  }
  t.deepEqual(
    (await found).map((row) => row?.id),
    Array.from({ length: 1_234 }, (_, index) => BigInt(index)),
  );
});

/** Named reads whose loads end when the test says so. */
function heldReads() {
  const loads: { readonly name: string; readonly answer: (result: string) => void; fail(error: unknown): void }[] = [];
  const reads = new NamedReads<string>();
  const read = (name: string) =>
    reads.read(name, () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      loads.push({ name, answer: resolve, fail: reject });
      return promise;
    });
  return { read, loads };
}

test('Named reads - reads that arrive during one of the same name share the next, never that one', async (t) => {
  const { read, loads } = heldReads();
  const first = read('a');
  const others = [read('a'), read('a')];
  loads[0]?.answer('before');
  t.is(await first, 'before');
  await settle();
  t.is(loads.length, 2);
  loads[1]?.answer('after');
  t.deepEqual(await Promise.all(others), ['after', 'after']);
});

test('Named reads - reads of different names do not wait for each other', async (t) => {
  const { read, loads } = heldReads();
  const reads = ['a', 'b', 'c', 'd', 'e'].map(read);
  t.deepEqual(
    loads.map(({ name }) => name),
    ['a', 'b', 'c', 'd', 'e'],
  );
  for (const { name, answer } of loads) answer(`page ${name}`);
  t.deepEqual(await Promise.all(reads), ['page a', 'page b', 'page c', 'page d', 'page e']);
});

test('Named reads - an error reaches everyone who shares it, and the next is loaded anew', async (t) => {
  const { read, loads } = heldReads();
  const first = read('a');
  const failing = [read('a'), read('a')];
  loads[0]?.answer('page');
  await first;
  await settle();
  const error = new Error('disk on fire');
  loads[1]?.fail(error);
  for (const result of await Promise.allSettled(failing)) {
    t.deepEqual(result, { status: 'rejected', reason: error });
  }
  await settle();
  const later = read('a');
  loads[2]?.answer('page again');
  t.is(await later, 'page again');
});
