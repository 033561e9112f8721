/** Usage, bans, and when keys were last used: rows that several servers store. */
import type { Ban } from '../../../src/platform/access/tables/bans.ts';
import type { AccessTransaction } from '../../../src/platform/access/tables/tables.ts';
import { type KeyId, toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Store } from '../../../src/schema.ts';
import { test } from './database.ts';
import { NOW_MS, newAccount, newKey } from './rows.ts';

function newBan(keyId: KeyId, untilMs: number): Ban {
  return { keyId, untilMs, durationMs: 300_000, refusals: 20, window: 'minute' };
}

const newAccounts = (store: Store, count: number) =>
  Promise.all(Array.from({ length: count }, () => newAccount(store)));

export function usageTests(): void {
  test('Usage - of a day and of an account is read; the larger total wins, whoever stores it last', async (t) => {
    const { store } = t.context;
    const [accountId, other] = (await newAccounts(store, 2)).map(({ id }) => id) as [never, never];
    const row = { accountId, dayIndex: 20_635 };
    for (const [requests, refused, mostRequests, mostRefused] of [
      [1, 4, 1, 4],
      [90_000, 5, 90_000, 5],
      [89_999, 2 ** 40, 90_000, 2 ** 40],
      [90_001, 0, 90_001, 2 ** 40],
    ] as const) {
      await store.transaction((tx) => tx.usage.put([{ ...row, requests, refused }]));
      const stored = await store.usage.ofDay(row.dayIndex);
      t.deepEqual(stored, [{ ...row, requests: mostRequests, refused: mostRefused }]);
    }
    const days = [3, 1, 2].map((dayIndex) => ({ accountId, dayIndex, requests: 1, refused: 0 }));
    await store.write(({ usage }) => usage.put([...days, { accountId: other, dayIndex: 3, requests: 1, refused: 0 }]));
    await store.write(({ usage }) => usage.put([]));
    const read = (await store.usage.ofAccount(accountId, 2)).map(({ dayIndex }) => dayIndex);
    t.deepEqual(read, [2, 3, row.dayIndex]);
    const remove = () => store.write(({ usage }) => usage.deleteBefore(4, 3));
    t.deepEqual([await remove(), (await store.usage.ofDay(3)).length], [3, 1], 'the oldest first');
    t.deepEqual([await remove(), await remove(), (await store.usage.ofDay(row.dayIndex)).length], [1, 0, 1]);
  });

  test('Usage - concurrent writes of the same accounts do not deadlock', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const ids = (await newAccounts(store, 50)).map(({ id }) => id);
    const put = ({ write }: Store, accountIds: typeof ids, requests: number) =>
      write(({ usage }) =>
        usage.put(accountIds.map((accountId) => ({ accountId, dayIndex: 1, requests, refused: 0 }))),
      );
    const rounds = Array.from({ length: 20 }, (_, round) => round + 1);
    await Promise.all(rounds.flatMap((round) => [put(store, ids, round), put(other, ids.toReversed(), round)]));
    t.deepEqual(new Set((await store.usage.ofDay(1)).map(({ requests }) => requests)), new Set([20]));
  });

  test('Rows in the background - of an account or a key that is gone are not stored, the others are', async (t) => {
    const { store } = t.context;
    const { id: accountId } = await newAccount(store);
    const { id: keyId } = await newKey(store, accountId);
    const [noAccount, noKey] = [toAccountId(accountId + 1n), toKeyId(keyId + 1n)];
    const day = { dayIndex: 1, requests: 2, refused: 0 };
    const puts = [
      ({ usage }) => usage.put([noAccount, accountId].map((id) => ({ accountId: id, ...day }))),
      ({ bans }) => bans.put([noKey, keyId].map((id) => newBan(id, NOW_MS))),
      ({ usage }) => usage.putKeyUses([noKey, keyId].map((id) => ({ keyId: id, lastUsedAtMs: NOW_MS }))),
    ] satisfies readonly ((tx: AccessTransaction) => Promise<number>)[];
    for (const put of puts) t.is(await store.write(put), 1);
    t.deepEqual(await store.usage.ofDay(1), [{ accountId, ...day }]);
    t.deepEqual(await store.bans.inForce(0), [newBan(keyId, NOW_MS)]);
    t.deepEqual(await store.usage.lastUses([keyId, noKey]), [{ keyId, lastUsedAtMs: NOW_MS }]);
  });

  test('Bans - are in force until they end, with their cause as last stored, and can be ended', async (t) => {
    const { store } = t.context;
    const { id: keyId } = await newKey(store, (await newAccount(store)).id);
    const put = (ban: Ban) => store.write((tx) => tx.bans.put([ban]));
    const day = { durationMs: 2, refusals: 7, window: 'day' } as const;
    for (const ban of [newBan(keyId, NOW_MS + 10), { keyId, untilMs: NOW_MS + 20, ...day }]) {
      await put(ban);
      t.deepEqual(await store.bans.inForce(ban.untilMs - 1), [ban]);
      t.deepEqual(await store.bans.ofKeys([keyId, toKeyId(999n)], NOW_MS), [ban]);
    }
    const { rows } = await store.bans.page({ after: 0n, limit: 1 }, NOW_MS + 20);
    t.deepEqual([await store.bans.inForce(NOW_MS + 20), rows, await store.bans.ofKeys([], NOW_MS)], [[], [], []]);
    t.deepEqual(await store.bans.ofKeys([keyId], NOW_MS + 20), []);
    await store.write((tx) => tx.bans.end(keyId, NOW_MS));
    t.deepEqual(await store.bans.inForce(0), []);
    await put(newBan(keyId, NOW_MS + 300_000));
    t.deepEqual(await store.bans.inForce(0), [], 'one that began before, of a server that stores it late');
    await put(newBan(keyId, NOW_MS + 300_001));
    t.is((await store.bans.inForce(0)).length, 1);
    await store.write((tx) => tx.bans.end(keyId, NOW_MS + 2));
    t.deepEqual(await store.bans.inForce(0), []);
  });

  test('Key uses - the later one wins, whichever server stores it last', async (t) => {
    const { store } = t.context;
    const [one, other] = await newAccounts(store, 2);
    if (!one || !other) return t.fail();
    const { id: keyId } = await newKey(store, one.id);
    for (const ms of [5, 4]) await store.write((tx) => tx.usage.putKeyUses([{ keyId, lastUsedAtMs: NOW_MS + ms }]));
    t.deepEqual([await store.usage.lastUseOf(one.id), await store.usage.lastUseOf(other.id)], [NOW_MS + 5, undefined]);
  });
}
