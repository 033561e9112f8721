/** The `pets` table: pets, and the stock of each. */
import type { Page, PageRequest, Pet, PetStatus } from '../model.ts';
import type { Engine, Row, Runner } from './engine.ts';
import { filtersInUse, keysetPage, pageReader } from './page.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, compiledByVariant, compileInsert, param } from './statement.ts';

export interface PetFilter {
  readonly status?: PetStatus | undefined;
  readonly categoryId?: bigint | undefined;
  readonly ids?: readonly bigint[] | undefined;
}

/** Reads pets on the newest committed state. */
export interface PetReader {
  find(id: bigint): Promise<Pet | undefined>;
  page(filter: Omit<PetFilter, 'ids'>, page: PageRequest): Promise<Page<Pet>>;
  /** Every pet of `ids` that exists and passes the filter, in ascending order of id. */
  findAll(filter: PetFilter & { readonly ids: readonly bigint[] }): Promise<readonly Pet[]>;
}

/** Reads and changes pets within a transaction. */
export interface PetWriter {
  /** Inserts a pet with no stock; undefined when the category does not exist. */
  insert(pet: Omit<Pet, 'id' | 'quantity'>): Promise<Pet | undefined>;
  /** Finds a pet and keeps others from changing it until the transaction ends. */
  lock(id: bigint): Promise<Pet | undefined>;
  /** Stores all of the pet's fields; false when the category does not exist. */
  update(pet: Pet): Promise<boolean>;
  delete(id: bigint): Promise<void>;
  existsInCategory(categoryId: bigint): Promise<boolean>;
}

/** What all transactions that lock a pet contend for. */
export function contendedPet(id: bigint): string {
  return `pet ${id}`;
}

const COLUMNS = ['id', 'name', 'category_id', 'status', 'quantity'] as const;

function toPet(row: Row): Pet {
  return {
    id: BigInt(row.id as number),
    name: row.name as string,
    categoryId: BigInt(row.category_id as number),
    status: row.status as PetStatus,
    quantity: row.quantity as number,
  };
}

export function petStatements(engine: Engine) {
  const { knex } = engine;
  // The category can't go between this look and the pet's coming: it stays, or the pet does not come.
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
    // One statement finds out whether the category exists and inserts: no look-up, no error to interpret. Callers who
    // wait together share it. (knex itself leaves `returning` out of an insert from a select.)
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
      (pet, row) => row.category_id === Number(pet.categoryId),
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
  const lookup = new BatchedLookup((ids) => findAll({ ids }));
  const readPage = pageReader(reader, toPet);
  return {
    find: (id) => lookup.find(id),
    findAll,
    page: (filter, page) => readPage(statements.select(filtersInUse(filter)), filter, page),
  };
}

export function petWriter(statements: PetStatements, tx: Runner): PetWriter {
  return {
    async insert(pet) {
      const { name, categoryId, status } = pet;
      const [row] = await tx.all(statements.insert, { name, categoryId, status });
      return row && { id: BigInt(row.id as number), name, categoryId, status, quantity: 0 };
    },
    async lock(id) {
      const [row] = await tx.all(statements.lock, { id });
      return row && toPet(row);
    },
    async update(pet) {
      return (await tx.all(statements.update, { ...pet })).length > 0;
    },
    async delete(id) {
      await tx.all(statements.delete, { id });
    },
    async existsInCategory(categoryId) {
      return (await tx.all(statements.anyInCategory, { categoryId })).length > 0;
    },
  };
}
