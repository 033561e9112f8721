/** The tables of accounts, keys, usage and bans, and the migrations that make them. */
import type { Migration } from '../../storage/migrate.ts';
import type { PLATFORM_TABLES, Store, Transaction } from '../../tables/store.ts';
import { accountTable, keyTable } from './accounts.ts';
import { banTable } from './bans.ts';
import * as accounts from './migrations/002-accounts.ts';
import * as usage from './migrations/003-usage.ts';
import * as keyUses from './migrations/005-key-uses.ts';
import * as keyPermissions from './migrations/007-key-permissions.ts';
import { usageTable } from './usage.ts';

export const ACCESS_TABLES = { accounts: accountTable, keys: keyTable, usage: usageTable, bans: banTable };

export const ACCESS_MIGRATIONS: readonly Migration[] = [
  { name: '002-accounts', up: accounts.up, isAdditive: true },
  { name: '003-usage', up: usage.up, isAdditive: true },
  { name: '005-key-uses', up: keyUses.up, isAdditive: true },
  { name: '007-key-permissions', up: keyPermissions.up, isAdditive: true },
];

export type AccessStore = Store<typeof ACCESS_TABLES & typeof PLATFORM_TABLES>;
export type AccessTransaction = Transaction<typeof ACCESS_TABLES>;
