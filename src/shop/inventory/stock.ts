/**
 * The rules of stock and status, as pure functions.
 *
 * Stock is never oversold and never lost. A status follows the stock when the last unit is taken, when units come back,
 * and when the last order is complete. In between it may be any that a client has set.
 *
 * A pet's stock and the units in its open orders are at most `MAX_UNITS` together. Orders move units between the two,
 * so only setting the stock must check the limit, and cancelling an order never fails.
 */
import type { PetStatus } from '../pets/table.ts';

/** The maximum stock, as in the validation rules of InventoryUpdate. */
export const MAX_UNITS = 1_000_000_000;

/** The fields of a pet that an order changes. */
export interface Stock {
  readonly quantity: number;
  readonly status: PetStatus;
}

/** Takes units for an order, one or more. The last makes an `available` pet `pending`. Undefined if there are fewer. */
export function takeUnits(stock: Stock, units: number): Stock | undefined {
  if (units > stock.quantity) return undefined;
  const quantity = stock.quantity - units;
  return { quantity, status: quantity === 0 && stock.status === 'available' ? 'pending' : stock.status };
}

/** Returns the units of a cancelled or reduced order to stock. A `pending` or `sold` pet becomes `available`. */
export function returnUnits(stock: Stock, units: number): Stock {
  return units > 0 ? restock(stock, stock.quantity + units) : stock;
}

/** Sets the stock. Above zero, a `pending` or `sold` pet becomes `available`. Zero changes no status. */
export function restock(stock: Stock, quantity: number): Stock {
  return { quantity, status: quantity > 0 ? 'available' : stock.status };
}

/** Completes an order. When no other order is open and no stock is left, a `pending` pet becomes `sold`. */
export function close(stock: Stock, otherOpenOrders: boolean): Stock {
  const isSoldOut = stock.quantity === 0 && !otherOpenOrders;
  return isSoldOut && stock.status === 'pending' ? { ...stock, status: 'sold' } : stock;
}
