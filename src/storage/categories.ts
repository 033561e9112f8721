/** The `categories` table. */
import type { Category, CategoryId } from '../model.ts';
import type { Engine } from './engine.ts';
import { bigInteger, optional, text } from './fields.ts';
import { resource, table } from './table.ts';

export const CATEGORIES = table<Category>('categories', {
  id: bigInteger<CategoryId>('id'),
  name: text('name'),
  description: optional(text('description')),
});

export function categoryTable(engine: Engine) {
  return resource(engine, CATEGORIES);
}
