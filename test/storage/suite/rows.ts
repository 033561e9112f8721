/** What the database itself sees to in rows of pets, and rows of keys. */
import { randomBytes } from 'node:crypto';
import type { Account, ApiKey } from '../../../src/platform/access/tables/accounts.ts';
import { type AccountId, toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import type { Store } from '../../../src/schema.ts';
import { newPet, test } from './database.ts';

export const NOW_MS = Date.UTC(2026, 6, 1);
const EMPTY_ORDER = { petId: undefined, quantity: 1, shipDate: undefined, complete: false };

export function newAccount(store: Store, fields: Partial<Account> = {}): Promise<Account> {
  const described = { name: 'Shop', plan: 'free', agreed: undefined, isSuspended: false } as const;
  return store.transaction((tx) => tx.accounts.insert({ ...described, createdAtMs: NOW_MS, ...fields }));
}

export function newKey(store: Store, accountId: AccountId, fields: Partial<ApiKey> = {}, hash = randomBytes(32)) {
  const described = { prefix: 'pst_12345678', label: undefined, createdAtMs: NOW_MS, expiresAtMs: undefined };
  const key = { ...described, permission: 'write', ...fields, accountId } as const;
  return store.transaction((tx) => tx.keys.insert(key, hash));
}

export function rowTests(): void {
  test('Pets - the database refuses a negative stock, and to delete a category with a pet', async (t) => {
    const { store } = t.context;
    const pet = await newPet(store, { quantity: 1 });
    await t.throwsAsync(store.transaction((tx) => tx.pets.update({ ...pet, quantity: -1 })));
    await t.throwsAsync(store.transaction((tx) => tx.categories.delete(pet.categoryId)));
    t.deepEqual(await store.pets.find(pet.id), pet);
    t.true(await store.transaction((tx) => tx.pets.existsInCategory(pet.categoryId)));
    await store.transaction((tx) => tx.pets.delete(pet.id));
    t.false(await store.transaction((tx) => tx.pets.existsInCategory(pet.categoryId)));
    await store.transaction((tx) => tx.categories.delete(pet.categoryId));
    t.is(await store.categories.find(pet.categoryId), undefined);
  });

  test('Ids - are never reused, not even after a delete and a restart', async (t) => {
    const { store, openAgain } = t.context;
    const pet = await newPet(store);
    const order = await store.transaction((tx) => tx.orders.insert(EMPTY_ORDER));
    await store.transaction(async (tx) => {
      await tx.orders.delete(order.id);
      await tx.pets.delete(pet.id);
      await tx.categories.delete(pet.categoryId);
    });
    await store.close();
    const again = await openAgain();
    const next = await newPet(again);
    t.true(next.id > pet.id);
    t.true(next.categoryId > pet.categoryId);
    t.true((await again.transaction((tx) => tx.orders.insert(EMPTY_ORDER))).id > order.id);
  });

  test('Keys - are found by their hash, which is unique, with their account', async (t) => {
    const { store } = t.context;
    const account = await newAccount(store);
    for (const [index, hash] of [randomBytes(32), Buffer.alloc(32)].entries()) {
      const fields = { label: index === 0 ? undefined : 'till', expiresAtMs: index === 0 ? undefined : NOW_MS + 1 };
      const key = await newKey(store, account.id, fields, hash);
      t.like(key, { ...fields, accountId: account.id, revokedAtMs: undefined });
      await t.throwsAsync(newKey(store, account.id, {}, hash));
      t.deepEqual(await store.accounts.findKey(hash), { key, account });
      const revoked = { ...key, revokedAtMs: NOW_MS + 7 };
      await store.transaction((tx) => tx.keys.update(revoked));
      t.deepEqual((await store.accounts.findKey(hash))?.key, revoked);
      t.deepEqual(await store.transaction((tx) => tx.keys.lock(key.id)), revoked);
    }
    t.is(await store.accounts.findKey(randomBytes(32)), undefined);
    const hash = randomBytes(32);
    const reader = await newKey(store, account.id, { permission: 'read', replaces: toKeyId(1n) }, hash);
    t.deepEqual(await store.accounts.findKey(hash), { key: reader, account });
    t.is(await store.keys.find(toKeyId(999n)), undefined);
    await t.throwsAsync(newKey(store, toAccountId(999n)), undefined, 'a key of an unknown account');
  });
}
