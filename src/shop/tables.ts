/** The shop's tables, and the migrations that make them. */
import type { Migration } from '../platform/storage/migrate.ts';
import type { CallStore, Transaction } from '../platform/tables/store.ts';
import { categoryTable } from './categories/table.ts';
import * as catalogue from './migrations/001-catalogue.ts';
import { orderTable } from './orders/table.ts';
import { petTable } from './pets/table.ts';

export const SHOP_TABLES = { pets: petTable, categories: categoryTable, orders: orderTable };

export const SHOP_MIGRATIONS: readonly Migration[] = [{ name: '001-catalogue', up: catalogue.up, isAdditive: false }];

export type ShopStore = CallStore<typeof SHOP_TABLES>;
export type ShopTransaction = Transaction<typeof SHOP_TABLES>;
