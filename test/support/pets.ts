/** Pets that tests store. */
import type { Pet } from '../../src/shop/pets/table.ts';

type NewPet = Omit<Pet, 'id' | 'quantity'>;

/** The fields of a pet to insert, of which a test says those that matter to it. */
export function aPet(fields: Pick<Pet, 'categoryId'> & Partial<NewPet>): NewPet {
  return { name: 'Tom', status: 'available', ...fields };
}
