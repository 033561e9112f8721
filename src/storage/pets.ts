/** The `pets` table: pets, and the stock of each. */
import {
  type CategoryId,
  type PageRequest,
  PET_STATUSES,
  type Pet,
  type PetId,
  type PetStatus,
  toCategoryId,
  toPetId,
} from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { bigInteger, firstRow, integer, oneOf, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, compiledByVariant, compileInsert, param } from './statement.ts';

export interface PetFilter {
  readonly status?: PetStatus | undefined;
  readonly categoryId?: CategoryId | undefined;
}

/** The name that transactions which lock a pet queue under. */
export function contendedPet(id: PetId): string {
  return `pet ${id}`;
}

const COLUMNS = ['id', 'name', 'category_id', 'status', 'quantity'] as const;

const status = oneOf(...PET_STATUSES);

function toPet(row: Row): Pet {
  return {
    id: toPetId(bigInteger(row.id)),
    name: text(row.name),
    categoryId: toCategoryId(bigInteger(row.category_id)),
    status: status(row.status),
    quantity: integer(row.quantity),
  };
}

export function petStatements(engine: Engine) {
  const { knex } = engine;
  const byId = () => knex('pets').where('id', param('id'));
  // Locks the category, so that it can't be deleted between this check and the pet's insert.
  const category = knex('categories').select(knex.raw('1'));
  const categoryExists = engine.forKeyShare(category.clone().where('id', param('categoryId')));
  const values = {
    name: param('name'),
    category_id: param('categoryId'),
    status: param('status'),
    quantity: param('quantity'),
  };
  return {
    select: compiledByVariant('pets.select', (filters) => {
      const query = knex('pets').select(COLUMNS);
      if (filters.has('status')) query.where('status', param('status'));
      if (filters.has('categoryId')) query.where('category_id', param('categoryId'));
      return filters.has('ids') ? engine.whereIdIn(query, 'id').orderBy('id') : keysetPage(query);
    }),
    lock: compile('pets.lock', engine.forUpdate(byId().select(COLUMNS))),
    // One statement checks the category and inserts. Inserts that wait at the same time share it. It is raw SQL since
    // knex drops `returning` from an insert with a select.
    insert: compileInsert(
      'pets.insert',
      knex.raw('? returning ??', [
        knex.into(knex.raw('?? (??, ??, ??)', ['pets', 'name', 'category_id', 'status'])).insert(
          knex
            .select(knex.raw('value ->> 0, cast(value ->> 1 as bigint), value ->> 2'))
            .from(engine.elementsOf('elements'))
            .whereExists(engine.forKeyShare(category.whereRaw('categories.id = cast(value ->> 1 as bigint)')))
            .orderBy('key'),
        ),
        ['id', 'category_id'],
      ] as never),
      ['name', 'categoryId', 'status'],
      (pet, row) => bigInteger(row.category_id) === pet.categoryId,
    ),
    update: compile('pets.update', byId().whereExists(categoryExists).update(values).returning('id')),
    delete: compile('pets.delete', byId().delete()),
    anyInCategory: compile(
      'pets.any_in_category',
      knex('pets').select('id').where('category_id', param('categoryId')).limit(1),
    ),
  };
}

export function petTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = petStatements(engine);
  const findAll = async ({
    ids,
    ...filter
  }: PetFilter & { readonly ids: readonly PetId[] }): Promise<readonly Pet[]> => {
    const statement = statements.select([...filtersInUse(filter), 'ids']);
    return (await reader.all(statement, { ...filter, ids: toIdList(ids) })).map(toPet);
  };
  const lookup = new BatchedLookup((ids: readonly PetId[]) => findAll({ ids }));
  const readPage = pageReader(reader, toPet);
  return {
    reads: {
      find: (id: PetId) => lookup.find(id),
      /** Every pet of `ids` that exists and passes the filter, in ascending order of id. */
      findAll,
      page: (filter: PetFilter, page: PageRequest) => readPage(statements.select(filtersInUse(filter)), filter, page),
    },
    writes: (tx: Runner) => ({
      /** Inserts a pet with no stock; undefined when the category does not exist. */
      async insert({ name, categoryId, status }: Omit<Pet, 'id' | 'quantity'>): Promise<Pet | undefined> {
        const [row] = await tx.all(statements.insert, { name, categoryId, status });
        return row && { id: toPetId(bigInteger(row.id)), name, categoryId, status, quantity: 0 };
      },
      /** Finds a pet and locks it until the transaction ends. */
      lock: async (id: PetId) => firstRow(await tx.all(statements.lock, { id }), toPet),
      /** Stores all of the pet's fields; false when the category does not exist. */
      update: async (pet: Pet) => (await tx.all(statements.update, { ...pet })).length > 0,
      delete: async (id: PetId) => void (await tx.all(statements.delete, { id })),
      existsInCategory: async (categoryId: CategoryId) =>
        (await tx.all(statements.anyInCategory, { categoryId })).length > 0,
    }),
  };
}
