/** PetService: the animals that the store keeps. */
import {
  type NewPet,
  Pet as PetMessage,
  type PetServiceServer,
  PetStatus as ProtoStatus,
} from '../../../gen/petstore/v1/pets.ts';
import { existing } from '../../platform/errors.ts';
import { trimmed } from '../../platform/proto/fields.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Context, Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { toCategoryId } from '../categories/table.ts';
import { shopError } from '../errors.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { contendedPet, PET_STATUSES, type Pet, type PetStatus, toPetId } from './table.ts';

export const PET_PAGES = pageTokens(1);

export function petService(store: ShopStore): Service<PetServiceServer> {
  /** Changes a pet, which must exist and match the call's If-Match. */
  const change = <T>(id: bigint, call: Context, work: (tx: ShopTransaction, pet: Pet) => Promise<T>) => {
    const petId = toPetId(id);
    return store.forCall(call, contendedPet(petId)).transaction(async (tx) => {
      const pet = existing(await tx.pets.lock(petId), () => shopError('PET_NOT_FOUND', { petId }));
      checkIfMatch(call, PetMessage, petMessage(pet));
      return work(tx, pet);
    });
  };

  return {
    async listPets({ ids, ...request }) {
      const categoryId = request.categoryId === undefined ? undefined : toCategoryId(request.categoryId);
      const filter = { status: fromProtoStatus(request.status), categoryId };
      const pageRequest = PET_PAGES.toPageRequest(request);
      if (ids.length > 0) {
        const found = await store.pets.findAll(ids.map(toPetId));
        const pets = found.filter(
          (pet) => pet.status === (filter.status ?? pet.status) && pet.categoryId === (categoryId ?? pet.categoryId),
        );
        return { pets: pets.map(petMessage), nextPageToken: '' };
      }
      const page = await store.pets.page(pageRequest, filter);
      return { pets: page.rows.map(petMessage), nextPageToken: PET_PAGES.next(page, ({ id }) => id) };
    },

    async createPet({ pet }, call) {
      const newPet = fieldsOf(pet);
      const created = await store.forCall(call).write(async ({ pets }) => {
        const inserted = await pets.insert(newPet);
        return inserted && petMessage(inserted);
      });
      return existing(created, () => shopError('UNKNOWN_CATEGORY', newPet));
    },

    getPet: async ({ petId }) =>
      petMessage(existing(await store.pets.find(toPetId(petId)), () => shopError('PET_NOT_FOUND', { petId }))),

    replacePet: ({ petId, pet }, call) =>
      change(petId, call, (tx, current) => update(tx, { ...current, ...fieldsOf(pet) })),

    updatePet: ({ petId, pet }, call) =>
      change(petId, call, (tx, current) =>
        update(tx, {
          ...current,
          name: pet?.name === undefined ? current.name : trimmed(pet.name),
          categoryId: pet?.categoryId === undefined ? current.categoryId : toCategoryId(pet.categoryId),
          status: fromProtoStatus(pet?.status) ?? current.status,
        }),
      ),

    deletePet: ({ petId }, call) =>
      change(petId, call, async (tx, { id }) => {
        if (await tx.orders.hasOpen(id)) throw shopError('PET_IN_USE', { petId });
        await tx.pets.delete(id);
        return {};
      }),
  };
}

/** Stores a changed pet. @throws ApiError when its category does not exist. */
async function update(tx: ShopTransaction, changed: Pet): Promise<PetMessage> {
  if (!(await tx.pets.update(changed))) throw shopError('UNKNOWN_CATEGORY', changed);
  return petMessage(changed);
}

/** The fields of a new pet or a replacement, with defaults. Validation has checked that those needed are there. */
function fieldsOf(pet: NewPet | undefined): Omit<Pet, 'id' | 'quantity'> {
  return {
    name: trimmed(pet?.name ?? ''),
    categoryId: toCategoryId(pet?.categoryId ?? 0n),
    status: fromProtoStatus(pet?.status) ?? 'available',
  };
}

export function petMessage({ id, name, categoryId, status }: Pet): PetMessage {
  return { id, name, categoryId, status: toProtoStatus(status) };
}

/** Undefined for an absent status. Validation refuses the unspecified one. */
export const fromProtoStatus = (status?: ProtoStatus) => PET_STATUSES.find((name) => ProtoStatus[name] === status);
export const toProtoStatus = (status: PetStatus) => ProtoStatus[status];
