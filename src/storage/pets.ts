/** The `pets` table: pets, and the stock of each. */
import {
  type CategoryId,
  type Page,
  type PageRequest,
  PET_STATUSES,
  type Pet,
  type PetId,
  type PetStatus,
  toCategoryId,
  toPetId,
} from '../model.ts';
import type { Engine } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { bigInteger, integer, oneOf, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, compiledByVariant, compileInsert, param } from './statement.ts';

export interface PetFilter {
  readonly status?: PetStatus | undefined;
  readonly categoryId?: CategoryId | undefined;
  readonly ids?: readonly PetId[] | undefined;
}

/** Reads pets on the newest committed state. */
export interface PetReader {
  find(id: PetId): Promise<Pet | undefined>;
  page(filter: Omit<PetFilter, 'ids'>, page: PageRequest): Promise<Page<Pet>>;
  /** Every pet of `ids` that exists and passes the filter, in ascending order of id. */
  findAll(filter: PetFilter & { readonly ids: readonly PetId[] }): Promise<readonly Pet[]>;
}

/** Statements that lock and change pets in a transaction. */
export interface PetWrites {
  /** Inserts a pet with no stock; undefined when the category does not exist. */
  insert(pet: Omit<Pet, 'id' | 'quantity'>): SingleStatement<Pet | undefined>;
  /** Finds a pet and locks it until the transaction ends. */
  lock(id: PetId): SingleStatement<Pet | undefined>;
  /** Stores all of the pet's fields; false when the category does not exist. */
  update(pet: Pet): SingleStatement<boolean>;
  delete(id: PetId): SingleStatement<void>;
  existsInCategory(categoryId: CategoryId): SingleStatement<boolean>;
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
  // Locks the category, so that it can't be deleted between this check and the pet's insert.
  const category = knex('categories').select(knex.raw('1'));
  const categoryExists = engine.forKeyShare(category.clone().where('id', param('categoryId')));
  return {
    select: compiledByVariant('pets.select', (filters) => {
      const query = knex('pets').select(COLUMNS);
      if (filters.has('status')) query.where('status', param('status'));
      if (filters.has('categoryId')) query.where('category_id', param('categoryId'));
      if (filters.has('ids')) return engine.whereIdIn(query, 'id').orderBy('id');
      return keysetPage(query);
    }),
    lock: compile('pets.lock', engine.forUpdate(knex('pets').select(COLUMNS).where('id', param('id')))),
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
      engine,
      ['name', 'categoryId', 'status'],
      (pet, row) => bigInteger(row.category_id) === pet.categoryId,
    ),
    update: compile(
      'pets.update',
      knex('pets')
        .where('id', param('id'))
        .whereExists(categoryExists)
        .update({
          name: param('name'),
          category_id: param('categoryId'),
          status: param('status'),
          quantity: param('quantity'),
        })
        .returning('id'),
    ),
    delete: compile('pets.delete', knex('pets').where('id', param('id')).delete()),
    anyInCategory: compile(
      'pets.any_in_category',
      knex('pets').select('id').where('category_id', param('categoryId')).limit(1),
    ),
  };
}

type PetStatements = ReturnType<typeof petStatements>;

export function petReader(statements: PetStatements, { reader, toIdList }: Engine): PetReader {
  const findAll: PetReader['findAll'] = async ({ ids, ...filter }) => {
    const statement = statements.select([...filtersInUse(filter), 'ids']);
    return (await reader.all(statement, { ...filter, ids: toIdList(ids) })).map(toPet);
  };
  const lookup = new BatchedLookup((ids: readonly PetId[]) => findAll({ ids }));
  const readPage = pageReader(reader, toPet);
  return {
    find: (id) => lookup.find(id),
    findAll,
    page: (filter, page) => readPage(statements.select(filtersInUse(filter)), filter, page),
  };
}

export function petWrites(statements: PetStatements): PetWrites {
  return {
    insert: ({ name, categoryId, status }) =>
      SingleStatement.of(
        statements.insert,
        { name, categoryId, status },
        ([row]) => row && { id: toPetId(bigInteger(row.id)), name, categoryId, status, quantity: 0 },
      ),
    lock: (id) => SingleStatement.of(statements.lock, { id }, ([row]) => row && toPet(row)),
    update: (pet) => SingleStatement.of(statements.update, { ...pet }, (rows) => rows.length > 0),
    delete: (id) => SingleStatement.of(statements.delete, { id }, () => undefined),
    existsInCategory: (categoryId) =>
      SingleStatement.of(statements.anyInCategory, { categoryId }, (rows) => rows.length > 0),
  };
}
