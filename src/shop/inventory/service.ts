/** InventoryService: the stock of each pet. */
import { InventoryItem, type InventoryServiceServer } from '../../../gen/petstore/v1/inventory.ts';
import { existing, invalidArgument } from '../../platform/errors.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { shopError } from '../errors.ts';
import { fromProtoStatus, toProtoStatus } from '../pets/service.ts';
import { contendedPet, type Pet, toPetId } from '../pets/table.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { MAX_UNITS, restock } from './stock.ts';

const PAGES = pageTokens(4);

export function inventoryService(store: ShopStore): Service<InventoryServiceServer> {
  return {
    async listInventory(request) {
      const filter = { status: fromProtoStatus(request.status) };
      const page = await store.pets.page(PAGES.toPageRequest(request), filter);
      return { items: page.rows.map(inventoryMessage), nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    getInventoryItem: async ({ petId }) =>
      inventoryMessage(
        existing(await store.pets.find(toPetId(petId)), () => shopError('INVENTORY_NOT_FOUND', { petId })),
      ),

    setInventory({ inventory, ...request }, call) {
      const petId = toPetId(request.petId);
      return store.forCall(call, contendedPet(petId)).transaction(async (tx) => {
        const pet = existing(await tx.pets.lock(petId), () => shopError('INVENTORY_NOT_FOUND', { petId }));
        checkIfMatch(call, InventoryItem, inventoryMessage(pet));
        const quantity = inventory?.quantity ?? pet.quantity;
        await checkRoom(tx, pet, quantity);
        const restocked = { ...pet, ...restock(pet, quantity) };
        await tx.pets.update(restocked);
        return inventoryMessage(restocked);
      });
    },
  };
}

/** Refuses a quantity to which the units of the pet's open orders could not be returned when these are cancelled. */
async function checkRoom(tx: ShopTransaction, pet: Pet, quantity: number): Promise<void> {
  if (quantity <= pet.quantity) return; // a smaller quantity always fits
  const openUnits = await tx.orders.openUnits(pet.id);
  const most = MAX_UNITS - openUnits;
  if (quantity <= most) return;
  const description = `must be at most ${most} while ${openUnits} units are in open orders, which may be cancelled`;
  throw invalidArgument([{ path: 'inventory.quantity', name: 'quantity', description }]);
}

export function inventoryMessage({ id, quantity, status }: Pet): InventoryItem {
  return { petId: id, quantity, status: toProtoStatus(status) };
}
