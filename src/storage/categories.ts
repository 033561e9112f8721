/** The `categories` table. */
import type { Category, Page, PageRequest } from '../model.ts';
import { type Engine, onlyRow, type Row, type Runner } from './engine.ts';
import { keysetPage, pageReader } from './page.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, param } from './statement.ts';

/** Reads categories on the newest committed state. */
export interface CategoryReader {
  find(id: bigint): Promise<Category | undefined>;
  page(page: PageRequest): Promise<Page<Category>>;
}

/** Reads and changes categories within a transaction. */
export interface CategoryWriter {
  insert(category: Omit<Category, 'id'>): Promise<Category>;
  /** Finds a category and keeps others from changing it until the transaction ends. */
  lock(id: bigint): Promise<Category | undefined>;
  update(category: Category): Promise<void>;
  delete(id: bigint): Promise<void>;
}

const COLUMNS = ['id', 'name', 'description'] as const;

function toCategory(row: Row): Category {
  return {
    id: BigInt(row.id as number),
    name: row.name as string,
    description: (row.description as string | null) ?? undefined,
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

export function categoryWriter(statements: CategoryStatements, tx: Runner): CategoryWriter {
  const params = ({ name, description }: Omit<Category, 'id'>) => ({ name, description: description ?? null });
  return {
    async insert(category) {
      return toCategory(onlyRow(await tx.all(statements.insert, params(category))));
    },
    async lock(id) {
      const [row] = await tx.all(statements.lock, { id });
      return row && toCategory(row);
    },
    async update(category) {
      await tx.all(statements.update, { id: category.id, ...params(category) });
    },
    async delete(id) {
      await tx.all(statements.delete, { id });
    },
  };
}
