/** The `categories` table. */
import type { Engine } from '../../platform/storage/engine.ts';
import { id, longText, optional, table, text } from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { resource } from '../../platform/tables/table.ts';

export type CategoryId = Id<'category'>;
export const toCategoryId = (id: bigint) => id as CategoryId;

export interface Category {
  readonly id: CategoryId;
  readonly name: string;
  readonly description: string | undefined;
}

export const CATEGORIES = table<Category>('categories', {
  id: id<CategoryId>('id'),
  name: text('name'),
  description: optional(longText('description')),
});

export const categoryTable = (engine: Engine) => resource(engine, CATEGORIES, { isShared: true });
