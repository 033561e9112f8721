/** Bans, and when keys were last used. */
import { randomBytes } from 'node:crypto';
import type { Ban } from '../../../src/access/tables/model.ts';
import { type AccountId, type KeyId, toKeyId } from '../../../src/rpc/caller.ts';
import { NOW_MS, newAccount, newKey } from './accounts.ts';
import { test } from './database.ts';

const ALL = { after: 0n, limit: 100 };

function newBan(keyId: KeyId, untilMs: number): Ban {
  return { keyId, untilMs, durationMs: 300_000, refusals: 20, window: 'minute' };
}

export function banTests(): void {
  test('Bans - are in force until they end, and the later one wins', async (t) => {
    const { store } = t.context;
    const { id: keyId } = await newKey(store, (await newAccount(store)).id, randomBytes(32));
    for (const untilMs of [NOW_MS + 10, NOW_MS + 20]) {
      await store.transaction((tx) => tx.bans.put([newBan(keyId, untilMs)]));
      t.deepEqual(await store.bans.inForce(NOW_MS), [{ keyId, untilMs }]);
    }
    t.is((await store.bans.inForce(NOW_MS + 19)).length, 1);
    t.deepEqual(await store.bans.inForce(NOW_MS + 20), []);
  });

  test('Bans - are read with their cause, as last stored', async (t) => {
    const { store } = t.context;
    const { id: keyId } = await newKey(store, (await newAccount(store)).id, randomBytes(32));
    const day = { durationMs: 2, refusals: 7, window: 'day' } as const;
    const bans: Ban[] = [newBan(keyId, NOW_MS + 1), { keyId, untilMs: NOW_MS + 8, ...day }];
    for (const ban of bans) {
      await store.write((tx) => tx.bans.put([ban]));
      t.deepEqual(await store.bans.ofKeys([keyId, toKeyId(999n)], NOW_MS), [ban]);
    }
    t.deepEqual(await store.bans.ofKeys([], NOW_MS), []);
  });

  test('Bans - a page omits bans that have ended', async (t) => {
    const { store } = t.context;
    const { id: accountId } = await newAccount(store);
    for (const untilMs of [NOW_MS, NOW_MS + 1, NOW_MS + 300_000]) {
      const { id: keyId } = await newKey(store, accountId, randomBytes(32));
      await store.write((tx) => tx.bans.put([newBan(keyId, untilMs)]));
    }
    const page = await store.bans.page(ALL, NOW_MS);
    t.deepEqual(
      page.rows.map(({ untilMs }) => untilMs - NOW_MS),
      [1, 300_000],
    );
  });

  test('Bans - are listed page by page with key and account, for one account or for all', async (t) => {
    const { store } = t.context;
    const [one, other] = [await newAccount(store, { name: 'One' }), await newAccount(store, { name: 'Other' })];
    const expected: object[] = [];
    for (const account of [one, other, one, other, one]) {
      const label = expected.length === 0 ? undefined : `key ${expected.length}`;
      const { id: keyId } = await newKey(store, account.id, randomBytes(32), { label });
      const ban = newBan(keyId, NOW_MS + 1);
      await store.write((tx) => tx.bans.put([ban]));
      const described = { prefix: 'pst_12345678', label, accountId: account.id, accountName: account.name };
      expected.push({ ...ban, ...described });
    }
    const first = await store.bans.page({ after: 0n, limit: 3 }, NOW_MS);
    const second = await store.bans.page({ after: first.rows.at(-1)?.keyId ?? 0n, limit: 3 }, NOW_MS);
    t.deepEqual([first.hasMore, second.hasMore], [true, false]);
    t.deepEqual([...first.rows, ...second.rows] as object[], expected);
    const ofOther = await store.bans.page(ALL, NOW_MS, other.id);
    t.deepEqual(ofOther.rows as object[], [expected[1], expected[3]]);
  });

  test('Bans - a removal deletes the ban, but not one that ends later', async (t) => {
    const { store } = t.context;
    const { id: keyId } = await newKey(store, (await newAccount(store)).id, randomBytes(32));
    await store.write((tx) => tx.bans.put([newBan(keyId, NOW_MS + 10)]));
    await store.write((tx) => tx.bans.remove(keyId, NOW_MS + 9));
    t.is((await store.bans.inForce(NOW_MS)).length, 1);
    await store.write((tx) => tx.bans.remove(keyId, NOW_MS + 10));
    t.deepEqual(await store.bans.inForce(0), []);
    await store.write((tx) => tx.bans.remove(toKeyId(999n), NOW_MS));
  });

  test('Key uses - the later one wins, whichever server stores it last', async (t) => {
    const { store } = t.context;
    const [one, other] = [await newAccount(store), await newAccount(store)];
    const key = async (accountId: AccountId) => (await newKey(store, accountId, randomBytes(32))).id;
    const [first, second, unused] = [await key(one.id), await key(one.id), await key(other.id)];
    const put = (keyId: KeyId, lastUsedAtMs: number) =>
      store.write(({ usage }) => usage.putKeyUses([{ keyId, lastUsedAtMs }]));
    t.deepEqual(await store.usage.lastUses([first, second, unused]), []);
    t.is(await store.usage.lastUseOf(one.id), undefined);
    for (const [keyId, atMs] of [
      [first, NOW_MS + 5],
      [first, NOW_MS + 4],
      [second, NOW_MS],
      [second, NOW_MS + 3],
    ] as const) {
      await put(keyId, atMs);
    }
    const uses = await store.usage.lastUses([first, second, unused]);
    t.deepEqual(
      new Map(uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs - NOW_MS])),
      new Map([
        [first, 5],
        [second, 3],
      ]),
    );
    t.is(await store.usage.lastUseOf(one.id), NOW_MS + 5);
    t.is(await store.usage.lastUseOf(other.id), undefined);
  });
}
