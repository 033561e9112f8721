/** The tables of accounts, keys, usage and bans, and the migration that makes them. */
import type { Migration } from '../../storage/migrate.ts';
import type { PLATFORM_TABLES, Store, Transaction } from '../../tables/store.ts';
import { accountTable, keyTable } from './accounts.ts';
import { banTable } from './bans.ts';
import * as accounts from './migrations/002-accounts.ts';
import { usageTable } from './usage.ts';

export const ACCESS_TABLES = { accounts: accountTable, keys: keyTable, usage: usageTable, bans: banTable };

export const ACCESS_MIGRATIONS: readonly Migration[] = [{ name: '002-accounts', up: accounts.up, isAdditive: true }];

export type AccessStore = Store<typeof ACCESS_TABLES & typeof PLATFORM_TABLES>;
export type AccessTransaction = Transaction<typeof ACCESS_TABLES>;
