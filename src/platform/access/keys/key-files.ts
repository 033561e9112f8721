/** The keys that the service generates, the demo key and the operator's, in files that only their owner can read. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AlreadyDone } from '../../storage/store-errors.ts';
import type { AccessStore } from '../tables/tables.ts';
import { displayPrefix, generateKey, hashKey, isWellFormed } from './format.ts';

export const demoKeyFile = (dataDir: string) => join(dataDir, 'demo.key');
export const operatorKeyFile = (dataDir: string) => join(dataDir, 'operator.key');

/**
 * Creates the demo account, on the Business plan, and its key, if the database has no account yet. Of several servers
 * that start at once the first one creates them: it stores a record of the same id in its transaction.
 */
export async function ensureDemoKey(store: AccessStore, dataDir: string): Promise<void> {
  if ((await store.accounts.page({ after: 0n, limit: 1 })).rows.length > 0) return;
  const key = generateKey();
  const createdAtMs = Date.now();
  const created = store.transaction(async (tx) => {
    const nothing = Buffer.alloc(0);
    await tx.idempotency.insert({ id: 'demo-account', requestDigest: nothing, response: nothing, createdAtMs });
    // The file comes before the commit: a start that is interrupted between the two writes a new key the next time.
    await rm(demoKeyFile(dataDir), { force: true });
    await writeNewSecret(demoKeyFile(dataDir), key);
    const described = { name: 'Demo', plan: 'business', agreed: undefined, isSuspended: false } as const;
    const account = await tx.accounts.insert({ ...described, createdAtMs });
    const ofDemo = { label: 'demo', permission: 'write', createdAtMs, expiresAtMs: undefined } as const;
    await tx.keys.insert({ accountId: account.id, ...ofDemo, prefix: displayPrefix(key) }, hashKey(key));
  });
  await created.catch((error: unknown) => {
    if (!(error instanceof AlreadyDone)) throw error;
  });
}

/** Returns the operator's key from its file, which the first start creates. @throws Error when that holds none. */
export async function ensureOperatorKey(dataDir: string): Promise<string> {
  const file = operatorKeyFile(dataDir);
  if (!existsSync(file)) await writeNewSecret(file, generateKey('operator'));
  const key = (await readFile(file, 'utf8')).trim();
  if (!isWellFormed(key, 'operator')) throw new Error(`${file} holds no operator key: remove it to get a new one`);
  return key;
}

/** Writes the file whole, or not at all: of several processes only the first one does. */
async function writeNewSecret(file: string, secret: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, `${secret}\n`, { mode: 0o600 });
  try {
    await link(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(temporary);
  }
}
