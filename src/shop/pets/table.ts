/** The `pets` table: pets, and the stock of each. */
import type { Engine, Runner } from '../../platform/storage/engine.ts';
import { compile, param, paramsOf } from '../../platform/storage/statement.ts';
import { id, integer, oneOf, table, text } from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { whereInIndex } from '../../platform/tables/pages.ts';
import { compileChildInsert, existingRow, resource } from '../../platform/tables/table.ts';
import type { CategoryId } from '../categories/table.ts';

export type PetId = Id<'pet'>;
export const toPetId = (id: bigint) => id as PetId;

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

export interface Pet {
  readonly id: PetId;
  readonly name: string;
  readonly categoryId: CategoryId;
  readonly status: PetStatus;
  /** Units in stock: the pet's inventory entry. */
  readonly quantity: number;
}

export const PETS = table<Pet>('pets', {
  id: id<PetId>('id'),
  name: text('name'),
  categoryId: id<CategoryId>('category_id'),
  status: oneOf('status', PET_STATUSES),
  quantity: integer('quantity'),
});

/** The name that transactions which lock a pet queue under. */
export const contendedPet = (id: PetId) => `pet ${id}`;

export function petTable(engine: Engine) {
  const { knex } = engine;
  const pets = resource(engine, PETS);
  const inserted = PETS.columns.filter((column) => !['id', 'quantity'].includes(column));
  const values = paramsOf(PETS.columns.filter((column) => column !== 'id'));
  const statements = {
    // One statement checks the category and inserts. Inserts that wait at the same time share it.
    insert: compileChildInsert(engine, PETS, inserted, 'category_id', 'categories'),
    update: compile(
      'pets.update',
      knex('pets')
        .where('id', param('id'))
        .whereExists(existingRow(engine, 'categories', param('category_id')))
        .update(values)
        .returning('id'),
    ),
    inCategory: compile(
      'pets.in_category',
      whereInIndex(engine, knex('pets').select('id').limit(1), paramsOf(['category_id'])),
    ),
  };
  return {
    reads: pets.reads,
    writes: (tx: Runner) => ({
      ...pets.writes(tx),
      /** Inserts a pet with no stock; undefined when the category does not exist. */
      async insert(pet: Omit<Pet, 'id' | 'quantity'>): Promise<Pet | undefined> {
        const [row] = await tx.all(statements.insert, PETS.toParams(pet));
        return row && PETS.toRecord(row);
      },
      /** Stores all of the pet's fields; false when the category does not exist. */
      update: async (pet: Pet) => (await tx.all(statements.update, PETS.toParams(pet))).length > 0,
      existsInCategory: async (categoryId: CategoryId) =>
        (await tx.all(statements.inCategory, PETS.toParams({ categoryId }))).length > 0,
    }),
  };
}
