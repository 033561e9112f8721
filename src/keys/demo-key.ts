/** The demo key: made once, when the database is new, so that the first request works at once. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../storage/store.ts';
import { displayPrefix, generateKey, hashKey } from './format.ts';

/** Where the demo key is kept, readable by its owner alone. */
export function demoKeyFile(dataDir: string): string {
  return join(dataDir, 'demo.key');
}

/** Makes the demo account and its key if there is no account yet. */
export async function ensureDemoKey(store: Store, dataDir: string): Promise<void> {
  if (await store.accounts.exist()) return;
  const key = generateKey();
  // The file first: a start that is cut off between the two makes a new key the next time.
  await writeFile(demoKeyFile(dataDir), `${key}\n`, { mode: 0o600 });
  const createdAtMs = Date.now();
  await store.transaction(async (tx) => {
    const accountId = await tx.accounts.insertAccount({ name: 'Demo', plan: 'business', createdAtMs });
    await tx.accounts.insertKey({
      accountId,
      hash: hashKey(key),
      prefix: displayPrefix(key),
      label: 'demo',
      createdAtMs,
    });
  });
}
