/** Stores a key that has been generated: its hash and its first characters. */
import type { ApiKey, NewKey } from '../tables/accounts.ts';
import type { AccessTransaction } from '../tables/tables.ts';
import { displayPrefix, storedHashes } from './format.ts';

export function insertKey(
  tx: Pick<AccessTransaction, 'keys'>,
  key: string,
  described: Omit<NewKey, 'prefix'>,
): Promise<ApiKey> {
  return tx.keys.insert({ ...described, prefix: displayPrefix(key) }, storedHashes(key)[described.permission]);
}
