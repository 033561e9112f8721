/** The `categories` table. */
import type { Engine } from '../platform/storage/engine.ts';
import { bigInteger, optional, text } from '../platform/storage/fields.ts';
import { resource, table } from '../platform/storage/table.ts';
import type { Category, CategoryId } from './model.ts';

export const CATEGORIES = table<Category>('categories', {
  id: bigInteger<CategoryId>('id'),
  name: text('name'),
  description: optional(text('description')),
});

export function categoryTable(engine: Engine) {
  return resource(engine, CATEGORIES);
}
