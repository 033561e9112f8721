/** All tables and migrations: the shop's, those of accounts and keys, of events, and the platform's others. */
import { ACCESS_MIGRATIONS, ACCESS_TABLES } from './platform/access/tables/tables.ts';
import { EVENT_MIGRATIONS, EVENT_TABLES } from './platform/events/table.ts';
import type { Migration } from './platform/storage/migrate.ts';
import { PLATFORM_MIGRATIONS, PLATFORM_TABLES, type Store as StoreOf } from './platform/tables/store.ts';
import { SHOP_MIGRATIONS, SHOP_TABLES } from './shop/tables.ts';

export const TABLES = { ...SHOP_TABLES, ...ACCESS_TABLES, ...EVENT_TABLES, ...PLATFORM_TABLES };

export type Store = StoreOf<typeof TABLES>;

/** In the order in which they run, not of their numbers: the shop's may use the platform's tables. */
export const MIGRATIONS: readonly Migration[] = [
  ...ACCESS_MIGRATIONS,
  ...PLATFORM_MIGRATIONS,
  ...EVENT_MIGRATIONS,
  ...SHOP_MIGRATIONS,
];
