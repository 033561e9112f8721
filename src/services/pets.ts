/** PetService: the animals that the store keeps. */
import { type NewPet, Pet as PetMessage, type PetServiceServer } from '../../gen/petstore/v1/pets.ts';
import { apiError } from '../errors.ts';
import type { Pet } from '../model.ts';
import { contendedPet } from '../storage/pets.ts';
import type { Store, Transaction } from '../storage/store.ts';
import { checkIfMatch } from './if-match.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import { fromProtoStatus, toProtoStatus } from './pet-status.ts';
import type { Context, Service } from './service.ts';

export function petService(store: Store): Service<PetServiceServer> {
  return {
    async listPets({ ids, ...request }) {
      const filter = { status: fromProtoStatus(request.status), categoryId: request.categoryId };
      if (ids.length > 0) {
        return { pets: (await store.pets.findAll({ ...filter, ids })).map(toMessage), nextPageToken: '' };
      }
      const page = await store.pets.page(filter, toPageRequest('pets', request));
      return { pets: page.rows.map(toMessage), nextPageToken: nextPageToken('pets', page, ({ id }) => id) };
    },

    createPet({ pet }, { isCancelled, remember }) {
      const wanted = replacement(pet);
      const create = async (tx: Transaction) => {
        const created = await tx.pets.insert(wanted);
        if (created === undefined) throw apiError('UNKNOWN_CATEGORY', wanted);
        return toMessage(created);
      };
      return store.write(create, isCancelled, remember);
    },

    async getPet({ petId }) {
      const pet = await store.pets.find(petId);
      if (pet === undefined) throw apiError('PET_NOT_FOUND', { petId });
      return toMessage(pet);
    },

    replacePet: ({ petId, pet }, context) => change(petId, () => replacement(pet), context),

    updatePet: ({ petId, pet }, context) =>
      change(
        petId,
        (current) => ({
          name: pet?.name === undefined ? current.name : trimmed(pet.name),
          categoryId: pet?.categoryId ?? current.categoryId,
          status: fromProtoStatus(pet?.status) ?? current.status,
        }),
        context,
      ),

    deletePet: ({ petId }, context) =>
      store.transaction(
        async (tx) => {
          await lock(tx, petId, context);
          if (await tx.orders.hasOpen(petId)) throw apiError('PET_IN_USE', { petId });
          await tx.pets.delete(petId);
          return {};
        },
        context.isCancelled,
        contendedPet(petId),
      ),
  };

  function change(
    petId: bigint,
    toFields: (current: Pet) => Omit<Pet, 'id' | 'quantity'>,
    context: Context,
  ): Promise<PetMessage> {
    return store.transaction(
      async (tx) => {
        const current = await lock(tx, petId, context);
        const changed = { ...current, ...toFields(current) };
        if (!(await tx.pets.update(changed))) throw apiError('UNKNOWN_CATEGORY', changed);
        return toMessage(changed);
      },
      context.isCancelled,
      contendedPet(petId),
    );
  }
}

/** The pet, if it is as the caller wants it to be, and as it stays until the transaction ends. */
async function lock(tx: Transaction, petId: bigint, context: Context): Promise<Pet> {
  const pet = await tx.pets.lock(petId);
  if (pet === undefined) throw apiError('PET_NOT_FOUND', { petId });
  checkIfMatch(context, PetMessage, toMessage(pet));
  return pet;
}

/** All fields of a pet as a caller gives them. Validation has seen to it that there is a name and a category. */
function replacement(pet: NewPet | undefined): Omit<Pet, 'id' | 'quantity'> {
  return {
    name: trimmed(pet?.name ?? ''),
    categoryId: pet?.categoryId ?? 0n,
    status: fromProtoStatus(pet?.status) ?? 'available',
  };
}

function toMessage({ id, name, categoryId, status }: Pet): PetMessage {
  return { id, name, categoryId, status: toProtoStatus(status) };
}
