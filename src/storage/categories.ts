/** The `categories` table. */
import { type Category, type CategoryId, type PageRequest, toCategoryId } from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { keysetPage, pageReader } from './page.ts';
import { bigInteger, firstRow, nullable, onlyRow, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, param } from './statement.ts';

const COLUMNS = ['id', 'name', 'description'] as const;

function toCategory(row: Row): Category {
  return {
    id: toCategoryId(bigInteger(row.id)),
    name: text(row.name),
    description: nullable(text, row.description),
  };
}

function toParams({ name, description }: Omit<Category, 'id'>) {
  return { name, description: description ?? null };
}

export function categoryStatements(engine: Engine) {
  const { knex } = engine;
  const byId = () => knex('categories').where('id', param('id'));
  const values = { name: param('name'), description: param('description') };
  return {
    byIds: compile('categories.by_ids', engine.whereIdIn(knex('categories').select(COLUMNS).orderBy('id'), 'id')),
    page: compile('categories.page', keysetPage(knex('categories').select(COLUMNS))),
    lock: compile('categories.lock', engine.forUpdate(byId().select(COLUMNS))),
    insert: compile('categories.insert', knex('categories').insert(values).returning(COLUMNS)),
    update: compile('categories.update', byId().update(values)),
    delete: compile('categories.delete', byId().delete()),
  };
}

export function categoryTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = categoryStatements(engine);
  const lookup = new BatchedLookup(async (ids: readonly CategoryId[]) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toCategory),
  );
  const readPage = pageReader(reader, toCategory);
  return {
    reads: {
      find: (id: CategoryId) => lookup.find(id),
      page: (page: PageRequest) => readPage(statements.page, {}, page),
    },
    writes: (tx: Runner) => ({
      insert: async (category: Omit<Category, 'id'>) =>
        toCategory(onlyRow(await tx.all(statements.insert, toParams(category)))),
      /** Finds a category and locks it until the transaction ends. */
      lock: async (id: CategoryId) => firstRow(await tx.all(statements.lock, { id }), toCategory),
      update: async ({ id, ...category }: Category) =>
        void (await tx.all(statements.update, { id, ...toParams(category) })),
      delete: async (id: CategoryId) => void (await tx.all(statements.delete, { id })),
    }),
  };
}
