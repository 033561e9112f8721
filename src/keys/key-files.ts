/** The keys that the service makes for itself, in files that only their owner can read: the demo key, the operator's. */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../storage/store.ts';
import { displayPrefix, generateKey, hashKey, isWellFormed } from './format.ts';

export function demoKeyFile(dataDir: string): string {
  return join(dataDir, 'demo.key');
}

export function operatorKeyFile(dataDir: string): string {
  return join(dataDir, 'operator.key');
}

/** Makes the demo account, on the Business plan, and its key, if there is no account yet: once, in a new database. */
export async function ensureDemoKey(store: Store, dataDir: string): Promise<void> {
  if (await store.accounts.exist()) return;
  await store.alone(async () => {
    if (!(await store.accounts.exist())) await makeDemoKey(store, dataDir);
  });
}

async function makeDemoKey(store: Store, dataDir: string): Promise<void> {
  const key = generateKey();
  // The file first: a start that is cut off between the two makes a new key the next time.
  await writeSecret(demoKeyFile(dataDir), key);
  const createdAtMs = Date.now();
  await store.transaction(async (tx) => {
    const account = await tx.accounts.insert({ name: 'Demo', plan: 'business', agreed: undefined, createdAtMs });
    const described = { prefix: displayPrefix(key), label: 'demo', createdAtMs, expiresAtMs: undefined };
    await tx.accounts.insertKey({ accountId: account.id, ...described }, hashKey(key));
  });
}

/** The operator's key: the one in its file, made at the first start. */
export async function ensureOperatorKey(dataDir: string): Promise<string> {
  const file = operatorKeyFile(dataDir);
  const existing = await readSecret(file);
  if (existing !== undefined) {
    if (!isWellFormed(existing, 'pso')) throw new Error(`${file} holds no operator key: remove it to get a new one`);
    return existing;
  }
  const key = generateKey('pso');
  return (await writeNewSecret(file, key)) ? key : ensureOperatorKey(dataDir);
}

async function readSecret(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all: a start that is cut off leaves no half-written key behind. */
async function writeSecret(file: string, secret: string): Promise<void> {
  await rename(await writeUnfinished(file, secret), file);
}

/** The same, but never over another: of several processes that start at once one makes the file, the others are told. */
async function writeNewSecret(file: string, secret: string): Promise<boolean> {
  const unfinished = await writeUnfinished(file, secret);
  try {
    await link(unfinished, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(unfinished);
  }
}

async function writeUnfinished(file: string, secret: string): Promise<string> {
  const unfinished = `${file}.${randomUUID()}`;
  await writeFile(unfinished, `${secret}\n`, { mode: 0o600 });
  return unfinished;
}
