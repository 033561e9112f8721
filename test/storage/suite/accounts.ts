/** Accounts, keys and usage: what is written is what is read. */
import { randomBytes } from 'node:crypto';
import type { Account, ApiKey } from '../../../src/access/tables/model.ts';
import { type AccountId, type KeyId, toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import type { Store } from '../../../src/schema.ts';
import { test } from './database.ts';

export const NOW_MS = Date.UTC(2026, 6, 1);

export function newAccount(store: Store, fields: Partial<Account> = {}): Promise<Account> {
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: NOW_MS, ...fields } as const;
  return store.transaction((tx) => tx.accounts.insert(account));
}

export function newKey(
  store: Store,
  accountId: AccountId,
  hash: Buffer,
  fields: Partial<ApiKey> = {},
): Promise<ApiKey> {
  const described = { prefix: 'pst_12345678', label: undefined, createdAtMs: NOW_MS, expiresAtMs: undefined };
  return store.transaction((tx) => tx.keys.insert({ ...described, ...fields, accountId }, hash));
}

export function accountTests(): void {
  test('Accounts - a new database has none', async (t) => {
    const { store } = t.context;
    t.false(await store.accounts.exist());
    await newAccount(store);
    t.true(await store.accounts.exist());
  });

  test('Accounts - are returned as inserted', async (t) => {
    const { store } = t.context;
    for (const plan of ['free', 'pro', 'business', 'enterprise'] as const) {
      const agreed = plan === 'enterprise' ? { perMinute: 5_000, perDay: 2_000_000_000 } : undefined;
      const account = await newAccount(store, { name: `Shop ${plan}`, plan, agreed });
      const expected = { name: `Shop ${plan}`, plan, agreed, createdAtMs: NOW_MS, isSuspended: false };
      t.deepEqual(account, { id: account.id, ...expected });
      t.deepEqual(await store.accounts.find(account.id), account);
    }
  });

  test('Accounts - an update stores name, plan, agreed limits and suspension', async (t) => {
    const { store } = t.context;
    const account = await newAccount(store);
    const agreed = { perMinute: 1, perDay: 2 };
    for (const changed of [
      { ...account, name: 'Bigger', plan: 'enterprise', agreed, isSuspended: true },
      { ...account, plan: 'pro', agreed: undefined, isSuspended: false },
    ] as const) {
      await store.transaction((tx) => tx.accounts.update(changed));
      t.deepEqual(await store.accounts.find(account.id), changed);
      t.deepEqual(await store.transaction((tx) => tx.accounts.lock(account.id)), changed);
    }
  });

  test('Keys - are found by their hash, with their account', async (t) => {
    const { store } = t.context;
    const account = await newAccount(store);
    const hashes = [randomBytes(32), randomBytes(32), Buffer.alloc(32)];
    for (const [index, hash] of hashes.entries()) {
      const label = index === 0 ? undefined : `key ${index}`;
      const expiresAtMs = index === 0 ? undefined : NOW_MS + index;
      const key = await newKey(store, account.id, hash, { label, expiresAtMs });
      t.like(key, { accountId: account.id, label, expiresAtMs, revokedAtMs: undefined });
      t.deepEqual(await store.accounts.findKey(hash), { key, account });
    }
    t.is(await store.accounts.findKey(randomBytes(32)), undefined);
    t.is(await store.accounts.findKey(Buffer.alloc(0)), undefined);
  });

  test('Keys - a hash is unique', async (t) => {
    const { store } = t.context;
    const { id } = await newAccount(store);
    const hash = randomBytes(32);
    const key = await newKey(store, id, hash);
    await t.throwsAsync(newKey(store, id, hash));
    t.is((await store.accounts.findKey(hash))?.key.id, key.id);
  });

  test('Keys - a key of an unknown account is refused', async (t) => {
    await t.throwsAsync(newKey(t.context.store, toAccountId(999n), randomBytes(32)));
  });

  test('Keys - a revocation stores its time and changes nothing else', async (t) => {
    const { store } = t.context;
    const { id } = await newAccount(store);
    const hash = randomBytes(32);
    const key = await newKey(store, id, hash, { label: 'till' });
    await store.transaction((tx) => tx.keys.update({ ...key, revokedAtMs: NOW_MS + 7 }));
    const revoked = { ...key, revokedAtMs: NOW_MS + 7 };
    t.deepEqual((await store.accounts.findKey(hash))?.key, revoked);
    t.deepEqual(await store.transaction((tx) => tx.keys.lock(key.id)), revoked);
    t.deepEqual(await store.keys.find(key.id), revoked);
    t.is(await store.keys.find(toKeyId(999n)), undefined);
  });

  test("Keys - an account's pages contain only its own keys", async (t) => {
    const { store } = t.context;
    const [one, other] = [await newAccount(store), await newAccount(store)];
    const keys: KeyId[] = [];
    for (let count = 0; count < 5; count += 1) {
      keys.push((await newKey(store, one.id, randomBytes(32))).id);
      await newKey(store, other.id, randomBytes(32));
    }
    const first = await store.keys.page({ after: 0n, limit: 3 }, { accountId: one.id });
    const second = await store.keys.page({ after: first.rows.at(-1)?.id ?? 0n, limit: 3 }, { accountId: one.id });
    t.deepEqual([first.hasMore, second.hasMore], [true, false]);
    t.deepEqual(
      [...first.rows, ...second.rows].map(({ id }) => id),
      keys,
    );
  });

  test('Usage - the larger total of a day wins, whichever server stores it last', async (t) => {
    const { store } = t.context;
    const { id: accountId } = await newAccount(store);
    const totals = [
      { requests: 1, refused: 4, expected: { requests: 1, refused: 4 } },
      { requests: 90_000, refused: 5, expected: { requests: 90_000, refused: 5 } },
      { requests: 89_999, refused: 6, expected: { requests: 90_000, refused: 6 } },
      { requests: 90_001, refused: 0, expected: { requests: 90_001, refused: 6 } },
    ];
    for (const { expected, ...total } of totals) {
      await store.transaction((tx) => tx.usage.put([{ accountId, dayIndex: 20_635, ...total }]));
      t.deepEqual(await store.usage.ofDay(20_635), [{ accountId, dayIndex: 20_635, ...expected }]);
    }
  });

  test('Usage - one statement stores many accounts, as new and existing rows', async (t) => {
    const { store } = t.context;
    const ids: AccountId[] = [];
    for (let count = 0; count < 20; count += 1) ids.push((await newAccount(store)).id);
    const total = (accountId: AccountId) => ({ accountId, dayIndex: 1, requests: Number(accountId), refused: 2 ** 40 });
    await store.write(({ usage }) => usage.put(ids.slice(5, 10).map(total)));
    await store.write(({ usage }) => usage.put(ids.toReversed().map(total)));
    await store.write(({ usage }) => usage.put([]));
    const stored = await store.usage.ofDay(1);
    t.deepEqual(
      stored.toSorted((one, other) => Number(one.accountId - other.accountId)),
      ids.map(total),
    );
  });

  test('Usage - concurrent writes of the same accounts do not deadlock', async (t) => {
    const { store, openAgain } = t.context;
    const other = await openAgain();
    const ids: AccountId[] = [];
    for (let count = 0; count < 100; count += 1) ids.push((await newAccount(store)).id);
    const put = ({ write }: Store, accountIds: readonly AccountId[], requests: number) =>
      write(({ usage }) =>
        usage.put(accountIds.map((accountId) => ({ accountId, dayIndex: 1, requests, refused: 0 }))),
      );
    const rounds = Array.from({ length: 20 }, (_, round) => round + 1);
    await Promise.all(rounds.flatMap((round) => [put(store, ids, round), put(other, ids.toReversed(), round)]));
    t.true((await store.usage.ofDay(1)).every(({ requests }) => requests === 20));
  });

  test('Usage - past days are deleted in portions, oldest first', async (t) => {
    const { store } = t.context;
    const [one, other] = [(await newAccount(store)).id, (await newAccount(store)).id];
    const days = [1, 2, 3, 4].flatMap((dayIndex) =>
      [one, other].map((accountId) => ({ accountId, dayIndex, requests: 1, refused: 0 })),
    );
    await store.write(({ usage }) => usage.put(days));
    const left = async () => {
      const counts = [1, 2, 3, 4].map(async (dayIndex) => (await store.usage.ofDay(dayIndex)).length);
      return Promise.all(counts);
    };
    const remove = () => store.write(({ usage }) => usage.deleteBefore(3, 3));
    t.is(await remove(), 3);
    t.deepEqual(await left(), [0, 1, 2, 2]);
    t.is(await remove(), 1);
    t.deepEqual(await left(), [0, 0, 2, 2]);
    t.is(await remove(), 0);
  });

  test('Usage - is read for all accounts of a day, and for an account from a day on', async (t) => {
    const { store } = t.context;
    const [one, other] = [(await newAccount(store)).id, (await newAccount(store)).id];
    await store.transaction(async ({ usage }) => {
      await usage.put([3, 1, 2].map((dayIndex) => ({ accountId: one, dayIndex, requests: dayIndex, refused: 0 })));
      await usage.put([{ accountId: other, dayIndex: 2, requests: 20, refused: 0 }]);
    });
    const ofDay = await store.usage.ofDay(2);
    t.deepEqual(
      new Map(ofDay.map(({ accountId, requests }) => [accountId, requests])),
      new Map([
        [one, 2],
        [other, 20],
      ]),
    );
    t.deepEqual(
      (await store.usage.ofAccount(one, 2)).map(({ dayIndex }) => dayIndex),
      [2, 3],
    );
  });
}
