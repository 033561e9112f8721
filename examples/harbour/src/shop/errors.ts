/** The shop's errors. */
import { status as Status } from '@grpc/grpc-js';
import { errorsOf, notFound, row, unknown } from '../platform/errors.ts';

const conflict = (message: (ids: { boatId: bigint }) => string) => row(409, Status.FAILED_PRECONDITION, message);

export const SHOP_ERRORS = {
  UNKNOWN_BOAT: unknown('boat', 'boatId', 'rental.boat_id'),
  BOAT_NOT_FOUND: notFound('boat', 'boatId'),
  RENTAL_NOT_FOUND: notFound('rental', 'rentalId'),
  INSPECTION_NOT_FOUND: notFound('inspection', 'inspectionId'),
  INSPECTION_CLOSED: row<{ inspectionId: string }>(
    409,
    Status.FAILED_PRECONDITION,
    ({ inspectionId }) => `inspection ${inspectionId} is closed: store another one`,
  ),
  BOAT_IN_USE: conflict(({ boatId }) => `a rental names boat ${boatId}: cancel it first`),
  RENTAL_TOO_LONG: row(
    400,
    Status.INVALID_ARGUMENT,
    ({ rentalDays }: { rentalDays: number }) => `a boat may be rented for ${rentalDays} days at most`,
  ),
  BOAT_TAKEN: conflict(({ boatId }) => `boat ${boatId} is rented for a part of this time`),
} as const;

/** Values for the fields of the messages, but ids that are numbers, in the examples of the interface description. */
export const SHOP_SAMPLES = { rentalDays: 14 };

export const shopError = errorsOf(SHOP_ERRORS);
