/** The shop's tables, and the migrations that make them. */
import type { Migration } from '../platform/storage/migrate.ts';
import type { CallStore, Transaction } from '../platform/tables/store.ts';
import { boatTable } from './boats/table.ts';
import { inspectionTable } from './inspections/table.ts';
import * as harbour from './migrations/001-harbour.ts';
import { rentalTable } from './rentals/table.ts';

export const SHOP_TABLES = { boats: boatTable, inspections: inspectionTable, rentals: rentalTable };

export const SHOP_MIGRATIONS: readonly Migration[] = [{ name: '001-harbour', up: harbour.up, isAdditive: false }];

export type ShopStore = CallStore<typeof SHOP_TABLES>;
export type ShopTransaction = Transaction<typeof SHOP_TABLES>;
