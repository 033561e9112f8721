/** The `categories` table. */
import { type Category, type CategoryId, type Page, type PageRequest, toCategoryId } from '../model.ts';
import type { Engine } from './engine.ts';
import { keysetPage, pageReader } from './page.ts';
import { bigInteger, nullable, onlyRow, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, param } from './statement.ts';

/** Reads categories on the newest committed state. */
export interface CategoryReader {
  find(id: CategoryId): Promise<Category | undefined>;
  page(page: PageRequest): Promise<Page<Category>>;
}

/** Statements that lock and change categories in a transaction. */
export interface CategoryWrites {
  insert(category: Omit<Category, 'id'>): SingleStatement<Category>;
  /** Finds a category and locks it until the transaction ends. */
  lock(id: CategoryId): SingleStatement<Category | undefined>;
  update(category: Category): SingleStatement<void>;
  delete(id: CategoryId): SingleStatement<void>;
}

const COLUMNS = ['id', 'name', 'description'] as const;

function toCategory(row: Row): Category {
  return {
    id: toCategoryId(bigInteger(row.id)),
    name: text(row.name),
    description: nullable(text, row.description),
  };
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

type CategoryStatements = ReturnType<typeof categoryStatements>;

export function categoryReader(statements: CategoryStatements, { reader, toIdList }: Engine): CategoryReader {
  const lookup = new BatchedLookup(async (ids) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toCategory),
  );
  const readPage = pageReader(reader, toCategory);
  return {
    find: (id) => lookup.find(id),
    page: (page) => readPage(statements.page, {}, page),
  };
}

export function categoryWrites(statements: CategoryStatements): CategoryWrites {
  const params = ({ name, description }: Omit<Category, 'id'>) => ({ name, description: description ?? null });
  return {
    insert: (category) => SingleStatement.of(statements.insert, params(category), (rows) => toCategory(onlyRow(rows))),
    lock: (id) => SingleStatement.of(statements.lock, { id }, ([row]) => row && toCategory(row)),
    update: (category) =>
      SingleStatement.of(statements.update, { id: category.id, ...params(category) }, () => undefined),
    delete: (id) => SingleStatement.of(statements.delete, { id }, () => undefined),
  };
}
