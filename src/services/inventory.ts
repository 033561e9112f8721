/** InventoryService: the stock of each pet. */
import { InventoryItem, type InventoryServiceServer } from '../../gen/petstore/v1/inventory.ts';
import { apiError } from '../errors.ts';
import type { Pet } from '../model.ts';
import { contendedPet } from '../storage/pets.ts';
import type { Store } from '../storage/store.ts';
import { checkIfMatch } from './if-match.ts';
import { nextPageToken, toPageRequest } from './page-token.ts';
import { fromProtoStatus, toProtoStatus } from './pet-status.ts';
import type { Service } from './service.ts';
import { restock } from './stock.ts';

export function inventoryService(store: Store): Service<InventoryServiceServer> {
  return {
    async listInventory(request) {
      const filter = { status: fromProtoStatus(request.status) };
      const page = await store.pets.page(filter, toPageRequest('inventory', request));
      return { items: page.rows.map(toMessage), nextPageToken: nextPageToken('inventory', page, ({ id }) => id) };
    },

    async getInventoryItem({ petId }) {
      const pet = await store.pets.find(petId);
      if (pet === undefined) throw apiError('INVENTORY_NOT_FOUND', { petId });
      return toMessage(pet);
    },

    setInventory: ({ petId, inventory }, context) =>
      store.transaction(
        async (tx) => {
          const pet = await tx.pets.lock(petId);
          if (pet === undefined) throw apiError('INVENTORY_NOT_FOUND', { petId });
          checkIfMatch(context, InventoryItem, toMessage(pet));
          const restocked = { ...pet, ...restock(pet, inventory?.quantity ?? pet.quantity) };
          await tx.pets.update(restocked);
          return toMessage(restocked);
        },
        context.isWanted,
        contendedPet(petId),
      ),
  };
}

function toMessage({ id, quantity, status }: Pet): InventoryItem {
  return { petId: id, quantity, status: toProtoStatus(status) };
}
