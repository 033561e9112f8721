/**
 * How stock and status move, as pure functions: the rules of the contract's section 4, in one place.
 *
 * Three promises: stock is never oversold, never lost, and a status never contradicts the stock it describes.
 *
 * Stock and the units in open orders, which come back when those are cancelled, are `MAX_UNITS` together at the most.
 * Orders move units between the two, so setting the count is all that has to be held to it: a cancel never fails.
 */
import type { PetStatus } from '../model.ts';

/** The greatest count that there can be: that of the rules of InventoryUpdate. */
export const MAX_UNITS = 1_000_000_000;

/** What an order event changes on a pet. */
export interface Stock {
  readonly quantity: number;
  readonly status: PetStatus;
}

/** Takes units for an order: undefined when there are not enough. Taking the last one makes an `available` pet `pending`. */
export function take(stock: Stock, units: number): Stock | undefined {
  if (units > stock.quantity) return undefined;
  const quantity = stock.quantity - units;
  const tookTheLast = units > 0 && quantity === 0;
  return { quantity, status: tookTheLast && stock.status === 'available' ? 'pending' : stock.status };
}

/** Gives units of a cancelled or reduced order back: a `pending` or `sold` pet becomes `available`. */
export function returnUnits(stock: Stock, units: number): Stock {
  return units > 0 ? restock(stock, stock.quantity + units) : stock;
}

/** Sets the count itself. Above zero a `pending` or `sold` pet becomes `available`; zero changes no status. */
export function restock(stock: Stock, quantity: number): Stock {
  return { quantity, status: quantity > 0 ? 'available' : stock.status };
}

/** An order closed: when none stays open and nothing is left, a `pending` pet becomes `sold`. */
export function close(stock: Stock, otherOpenOrders: boolean): Stock {
  const isGone = stock.quantity === 0 && !otherOpenOrders;
  return isGone && stock.status === 'pending' ? { ...stock, status: 'sold' } : stock;
}
