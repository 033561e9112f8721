/**
 * RentalService: which boat the caller's account has, and when. Rentals of one boat queue under it, so that two never
 * overlap.
 */
import { Rental as RentalMessage, type RentalServiceServer } from '../../../gen/harbour/v1/rentals.ts';
import { existing } from '../../platform/errors.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { contendedBoat, toBoatId } from '../boats/table.ts';
import { shopError } from '../errors.ts';
import type { ShopSettings } from '../settings.ts';
import type { ShopStore } from '../tables.ts';
import { toRentalId } from './table.ts';

const PAGES = pageTokens(2);
const NEVER = { seconds: 0n, nanos: 0 };
const DAY_SECONDS = 86_400n;

export function rentalService(store: ShopStore, { rentalDays }: ShopSettings): Service<RentalServiceServer> {
  return {
    async listRentals(request, call) {
      const boatId = request.boatId === undefined ? undefined : toBoatId(request.boatId);
      const page = await store.rentals.of(call).page(PAGES.toPageRequest(request), { boatId });
      return { rentals: [...page.rows], nextPageToken: PAGES.next(page, ({ id }) => id) };
    },

    createRental({ rental }, call) {
      // Validation has checked that the fields are present.
      const { start = NEVER, end = NEVER } = rental ?? {};
      const boatId = toBoatId(rental?.boatId ?? 0n);
      if (end.seconds - start.seconds > BigInt(rentalDays) * DAY_SECONDS)
        throw shopError('RENTAL_TOO_LONG', { rentalDays });
      return store.forCall(call, contendedBoat(boatId)).transaction(async (tx) => {
        existing(await tx.boats.lock(boatId), () => shopError('UNKNOWN_BOAT', { boatId }));
        if (await tx.rentals.overlaps({ boatId, start, end })) throw shopError('BOAT_TAKEN', { boatId });
        return tx.rentals.of(call).insert({ boatId, start, end });
      });
    },

    getRental: async ({ rentalId }, call) =>
      existing(await store.rentals.of(call).find(toRentalId(rentalId)), () =>
        shopError('RENTAL_NOT_FOUND', { rentalId }),
      ),

    cancelRental: ({ rentalId }, call) =>
      store.forCall(call, `rental ${rentalId}`).transaction(async (tx) => {
        const id = toRentalId(rentalId);
        const rentals = tx.rentals.of(call);
        const rental = existing(await rentals.lock(id), () => shopError('RENTAL_NOT_FOUND', { rentalId }));
        checkIfMatch(call, RentalMessage, rental);
        await rentals.delete(id);
        return {};
      }),
  };
}
