/** PetService: the animals that the store keeps. */
import type { NewPet, Pet as PetMessage, PetServiceServer } from '../../gen/petstore/v1/pets.ts';
import { apiError } from '../errors.ts';
import type { Pet } from '../model.ts';
import type { Store } from '../storage/store.ts';
import { trimmed } from './name.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import { fromProtoStatus, toProtoStatus } from './pet-status.ts';
import type { Service } from './service.ts';

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

    async createPet({ pet }, { isWanted }) {
      const wanted = replacement(pet);
      const created = await store.write((tx) => tx.pets.insert(wanted), isWanted);
      if (created === undefined) throw apiError('UNKNOWN_CATEGORY', wanted);
      return toMessage(created);
    },

    async getPet({ petId }) {
      const pet = await store.pets.find(petId);
      if (pet === undefined) throw apiError('PET_NOT_FOUND', { petId });
      return toMessage(pet);
    },

    replacePet: ({ petId, pet }, { isWanted }) => change(petId, () => replacement(pet), isWanted),

    updatePet: ({ petId, pet }, { isWanted }) =>
      change(
        petId,
        (current) => ({
          name: pet?.name === undefined ? current.name : trimmed(pet.name),
          categoryId: pet?.categoryId ?? current.categoryId,
          status: fromProtoStatus(pet?.status) ?? current.status,
        }),
        isWanted,
      ),

    deletePet: ({ petId }, { isWanted }) =>
      store.transaction(async (tx) => {
        if ((await tx.pets.lock(petId)) === undefined) throw apiError('PET_NOT_FOUND', { petId });
        if (await tx.orders.hasOpen(petId)) throw apiError('PET_IN_USE', { petId });
        await tx.pets.delete(petId);
        return {};
      }, isWanted),
  };

  function change(
    petId: bigint,
    toFields: (current: Pet) => Omit<Pet, 'id' | 'quantity'>,
    isWanted: () => boolean,
  ): Promise<PetMessage> {
    return store.transaction(async (tx) => {
      const current = await tx.pets.lock(petId);
      if (current === undefined) throw apiError('PET_NOT_FOUND', { petId });
      const changed = { ...current, ...toFields(current) };
      if (!(await tx.pets.update(changed))) throw apiError('UNKNOWN_CATEGORY', changed);
      return toMessage(changed);
    }, isWanted);
  }
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
