import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { BatchedLookup, NamedReads } from '../../src/storage/shared-reads.ts';
import { StoreUnavailable } from '../../src/storage/store-errors.ts';
import { until } from '../support/until.ts';

interface Load {
  readonly ids: readonly bigint[];
  /** Ends this load with rows of the given ids. */
  readonly end: (...ids: bigint[]) => void;
  readonly fail: (error: unknown) => void;
}

/** A look-up whose loads the test ends. */
function heldLookup(options?: { readonly maxWaitMs: number }) {
  const loads: Load[] = [];
  const lookup = new BatchedLookup((ids) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ id: bigint }[]>();
    loads.push({ ids, end: (...found) => resolve(found.map((id) => ({ id }))), fail: reject });
    return promise;
  }, options);
  return { lookup, loads };
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

test('Batched look-up - a slow load does not block others, and at most three run at a time', async (t) => {
  const { lookup, loads } = heldLookup();
  const slow: Promise<unknown>[] = [];
  for (const id of [1n, 2n, 3n]) {
    slow.push(lookup.find(id));
    await until(() => loads.length === Number(id), `load ${id}`);
  }
  const last = [lookup.find(4n), lookup.find(5n)];
  await delay(100); // far longer than ids wait for a load in progress
  t.is(loads.length, 3);
  loads[1]?.end(...(loads[1]?.ids ?? []));
  await until(() => loads.length === 4, 'the load of the waiting ids');
  t.deepEqual(loads[3]?.ids, [4n, 5n]);
  for (const { ids, end } of loads) end(...ids);
  t.deepEqual(
    await Promise.all([...slow, ...last]),
    [1n, 2n, 3n, 4n, 5n].map((id) => ({ id })),
  );
});

test('Batched look-up - an id that has waited too long is refused while all loads hang', async (t) => {
  const { lookup, loads } = heldLookup({ maxWaitMs: 100 });
  const slow: Promise<unknown>[] = [];
  for (const id of [1n, 2n, 3n]) {
    slow.push(lookup.find(id));
    await until(() => loads.length === Number(id), `load ${id}`);
  }
  const [late, later] = [lookup.find(4n), delay(50).then(() => lookup.find(5n))];
  for (const refused of [late, later]) await t.throwsAsync(refused, { instanceOf: StoreUnavailable });
  t.is(loads.length, 3, 'no load has ended or begun');
  const soon = lookup.find(6n);
  for (const { end } of loads) end();
  await until(() => loads.length === 4, 'the next load');
  t.deepEqual(loads[3]?.ids, [6n]);
  loads[3]?.end(6n);
  t.deepEqual(await soon, { id: 6n });
  await Promise.all(slow);
});

test('Batched look-up - an id that waited is loaded when the database is back, however late', async (t) => {
  const { lookup, loads } = heldLookup({ maxWaitMs: 100 });
  const slow: Promise<unknown>[] = [];
  for (const id of [1n, 2n, 3n]) {
    slow.push(lookup.find(id));
    await until(() => loads.length === Number(id), `load ${id}`);
  }
  const waiting = lookup.find(4n);
  loads[0]?.end();
  const endMs = performance.now() + 150;
  while (performance.now() < endMs); // the server was too busy to notice
  await until(() => loads.length === 4, 'the next load');
  loads[3]?.end(4n);
  t.deepEqual(await waiting, { id: 4n });
  for (const { end } of loads) end();
  await Promise.all(slow);
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
  const lookup = new BatchedLookup(() => {
    throw error;
  });
  await t.throwsAsync(lookup.find(1n), { is: error });
  await t.throwsAsync(lookup.find(2n), { is: error });
});

test('Batched look-up - a load has at most 500 ids, and every id is loaded', async (t) => {
  const { lookup, loads } = heldLookup();
  const found = Promise.all(Array.from({ length: 1_234 }, (_, index) => lookup.find(BigInt(index))));
  for (let next = 0; next < loads.length; next += 1) {
    const load = loads[next];
    t.true((load?.ids.length ?? 0) <= 500);
    load?.end(...load.ids);
    await settle();
  }
  t.deepEqual(
    (await found).map((row) => row?.id),
    Array.from({ length: 1_234 }, (_, index) => BigInt(index)),
  );
});

/** Named reads whose loads the test ends. */
function heldReads() {
  const loads: { readonly name: string; readonly end: (result: string) => void; fail(error: unknown): void }[] = [];
  const reads = new NamedReads<string>();
  const read = (name: string) =>
    reads.read(name, () => {
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
