/** Turns: how much of one account's dear work is under way at once, and that others do not wait for it. */
import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import type { AccountId } from '../../src/platform/rpc/caller.ts';
import { rowsOf, Turns } from '../../src/platform/rpc/turns.ts';
import { exchange, grpcFrame, grpcHeaders, sessionOf } from '../support/calls/http2.ts';
import { startTestServer } from '../support/service/server.ts';

const [ONE, OTHER] = [1n, 2n] as readonly bigint[] as readonly [AccountId, AccountId];

test('Turns - an account has 640 rows under way, in order; others do not wait, nor does what fails', async (t) => {
  const turns = new Turns();
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  const run = (account: AccountId, name: string, rows: number) =>
    turns.run(account, rows, () => {
      begun.push(name);
      return new Promise<void>((resolve) => open.set(name, resolve));
    });
  const all = ['a', 'b', 'c', 'd'].map((name) => run(ONE, name, name === 'c' ? 5_000 : 400));
  const other = run(OTHER, 'other', 400);
  const next = async (name: string) => {
    open.get(name)?.();
    await delay(1);
    return begun.at(-1);
  };
  t.deepEqual(begun, ['a', 'other']);
  t.is(await next('a'), 'b');
  t.is(await next('b'), 'c', 'what is larger than all has a turn for itself');
  t.is(await next('c'), 'd');
  await t.throwsAsync(turns.run(OTHER, 1, () => Promise.reject(new Error('failed'))));
  await delay(1);
  t.is(await turns.run(OTHER, 240, () => 'at once'), 'at once');
  for (const name of ['d', 'other']) open.get(name)?.();
  await Promise.all([...all, other]);
  t.deepEqual([rowsOf(100), rowsOf(65_536)], [0, 199]);
});

test('Turns - a read costs its rows while an account is alone, and at least 40 beside others', async (t) => {
  const turns = new Turns();
  t.is(turns.costOf(ONE, 0), 0);
  t.deepEqual([turns.costOf(OTHER, 0), turns.costOf(ONE, 100)], [40, 100]);
  await delay(1_100);
  t.is(turns.costOf(ONE, 0), 40, 'the other one has just called');
  await delay(1_100);
  t.is(turns.costOf(ONE, 0), 0);
});

test('Pages - of an account are read and written a part at a time; others do not wait for them', async (t) => {
  const { store, grpc, operator } = await startTestServer(t);
  const caller = grpc.withKey(await operator.keyOf({ perMinute: 100, perDay: 100 }));
  const held = Promise.withResolvers<void>();
  let [underWay, most] = [0, 0];
  const { categories } = store;
  const page = categories.page.bind(categories);
  Object.assign(categories, {
    page: async (...args: Parameters<typeof page>) => {
      underWay += 1;
      most = Math.max(most, underWay);
      if (args[0].limit === 100) await held.promise;
      underWay -= 1;
      return page(...args);
    },
  });
  const list = (limit: number, from = grpc) => from.call(Categories.listCategories, { limit, pageToken: '' });
  const large = Array.from({ length: 40 }, () => list(100));
  await t.notThrowsAsync(list(20, caller), 'another account');
  t.is(most, 7, 'six of the one account, and the other');
  held.resolve();
  await t.notThrowsAsync(Promise.all(large));
});

test('Compressed messages - of an account are decompressed one at a time, with turns of others between', async (t) => {
  const { address, key } = await startTestServer(t);
  const session = await sessionOf(t, address);
  let [turn, isOver] = [0, false];
  const turns: number[] = [];
  const hook = createHook({ init: (_id, type) => void (type === 'ZLIB' && turns.push(turn)) }).enable();
  const counting = (async () => {
    for (; !isOver; turn += 1) await nextTurn();
  })();
  // An unknown field of 8,000 bytes that take as many when they are compressed.
  const body = grpcFrame(gzipSync(Buffer.concat([Buffer.of(0x7a, 0xc0, 0x3e), randomBytes(8_000)])), true);
  const headers = { ...grpcHeaders(Categories.listCategories.path, key), 'grpc-encoding': 'gzip' };
  const answers = await Promise.all(Array.from({ length: 30 }, () => exchange(session, headers, { body })));
  hook.disable();
  isOver = true;
  await counting;
  for (const answer of answers) t.is(answer.headers.get('grpc-status'), '0');
  const most = Math.max(
    ...Map.groupBy(turns, (one) => one)
      .values()
      .map(({ length }) => length),
  );
  t.true(turns.length >= 30 && most <= 2, `${most} of ${turns.length} in a turn of the event loop`);
});
