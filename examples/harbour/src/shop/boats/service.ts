/** BoatService: the boats that can be rented. */
import { Boat as BoatMessage, type BoatServiceServer, type NewBoat } from '../../../gen/harbour/v1/boats.ts';
import { existing } from '../../platform/errors.ts';
import { trimmed } from '../../platform/proto/fields.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Context, Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { shopError } from '../errors.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { type Boat, contendedBoat, toBoatId } from './table.ts';

const PAGES = pageTokens(1);

export function boatService(store: ShopStore): Service<BoatServiceServer> {
  /** Changes a boat, which must exist and match the call's If-Match. */
  const change = <T>(id: bigint, call: Context, work: (tx: ShopTransaction, boat: Boat) => Promise<T>) => {
    const boatId = toBoatId(id);
    return store.forCall(call, contendedBoat(boatId)).transaction(async (tx) => {
      const boat = existing(await tx.boats.lock(boatId), () => shopError('BOAT_NOT_FOUND', { boatId }));
      checkIfMatch(call, BoatMessage, boatMessage(boat));
      return work(tx, boat);
    });
  };

  return {
    async listBoats(request) {
      const page = await store.boats.page(PAGES.toPageRequest(request));
      return { boats: page.rows.map(boatMessage), nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    createBoat: ({ boat }, call) =>
      store.forCall(call).write(async ({ boats }) => boatMessage(await boats.insert(fieldsOf(boat)))),

    getBoat: async ({ boatId }) =>
      boatMessage(existing(await store.boats.find(toBoatId(boatId)), () => shopError('BOAT_NOT_FOUND', { boatId }))),

    updateBoat: ({ boatId, boat: patch }, call) =>
      change(boatId, call, async (tx, boat) => {
        const name = patch?.name === undefined ? boat.name : trimmed(patch.name);
        const { seats = boat.seats, equipment } = patch ?? {};
        const changed = { ...boat, name, seats, equipment: equipment?.values ?? boat.equipment };
        await tx.boats.update(changed);
        return boatMessage(changed);
      }),

    deleteBoat: ({ boatId }, call) =>
      change(boatId, call, async (tx, { id }) => {
        if (await tx.rentals.existsFor(id)) throw shopError('BOAT_IN_USE', { boatId });
        await tx.inspections.deleteOf(id);
        await tx.boats.delete(id);
        return {};
      }),
  };
}

/** Validation has checked that name and seats are present. */
function fieldsOf(boat: NewBoat | undefined): Omit<Boat, 'id'> {
  return { name: trimmed(boat?.name ?? ''), seats: boat?.seats ?? 0, equipment: boat?.equipment ?? [] };
}

export function boatMessage(boat: Boat): BoatMessage {
  return { ...boat, equipment: [...boat.equipment] };
}
