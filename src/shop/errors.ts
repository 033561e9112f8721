/** The shop's errors. */
import { status as Status } from '@grpc/grpc-js';
import { errorsOf, notFound, row, unknown } from '../platform/errors.ts';

const conflict = <Fields>(message: (fields: Fields) => string) => row(409, Status.FAILED_PRECONDITION, message);

export const SHOP_ERRORS = {
  UNKNOWN_CATEGORY: unknown('category', 'categoryId', 'pet.category_id'),
  UNKNOWN_PET: unknown('pet', 'petId', 'order.pet_id'),
  PET_NOT_FOUND: notFound('pet', 'petId'),
  CATEGORY_NOT_FOUND: notFound('category', 'categoryId'),
  ORDER_NOT_FOUND: notFound('order', 'orderId'),
  INVENTORY_NOT_FOUND: notFound('inventory entry of pet', 'petId'),
  CATEGORY_IN_USE: conflict<{ categoryId: bigint }>(
    ({ categoryId }) => `category ${categoryId} still has pets: move or delete them first`,
  ),
  PET_IN_USE: conflict<{ petId: bigint }>(
    ({ petId }) => `an order that is not complete names pet ${petId}: complete or cancel it first`,
  ),
  INSUFFICIENT_STOCK: conflict<{ petId: bigint; quantity: number; held: number; inStock: number }>(
    ({ petId, quantity, held, inStock }) =>
      `pet ${petId}: quantity ${quantity} is more than the ${inStock} in stock` +
      (held > 0 ? ` and the ${held} that the order has` : ''),
  ),
  ORDER_COMPLETE: conflict<{ orderId: bigint }>(
    ({ orderId }) => `order ${orderId} is complete: it can't be reopened, changed or cancelled`,
  ),
} as const;

/** Values for the fields of the messages, but ids that are numbers, in the examples of the interface description. */
export const SHOP_SAMPLES = { held: 0, inStock: 3, quantity: 5 };

export const shopError = errorsOf(SHOP_ERRORS);
