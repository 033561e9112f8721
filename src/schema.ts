/** All tables and migrations: the wings' and the platform's. */
import { ACCESS_MIGRATIONS, ACCESS_TABLES } from './platform/access/tables/tables.ts';
import type { Migration } from './platform/storage/migrate.ts';
import * as idempotency from './platform/storage/migrations/004-idempotency.ts';
import { PLATFORM_TABLES, type Store as StoreOf } from './platform/storage/store.ts';
import { SHOP_MIGRATIONS, SHOP_TABLES } from './shop/tables.ts';

export const TABLES = { ...SHOP_TABLES, ...ACCESS_TABLES, ...PLATFORM_TABLES };

export type Store = StoreOf<typeof TABLES>;

/** In the order in which they run: that of their numbers. */
export const MIGRATIONS: readonly Migration[] = [
  ...SHOP_MIGRATIONS,
  ...ACCESS_MIGRATIONS,
  { name: '004-idempotency', up: idempotency.up, isAdditive: true },
].sort((one, other) => (one.name < other.name ? -1 : 1));
