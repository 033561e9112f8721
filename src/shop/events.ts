/** What an event has of the shop. */
import type { Row } from '../platform/storage/statement.ts';
import { CATEGORIES } from './categories/table.ts';
import { inventoryMessage } from './inventory/service.ts';
import { ORDERS } from './orders/table.ts';
import { petMessage } from './pets/service.ts';
import { PETS } from './pets/table.ts';

/** The resource after the change, or before its deletion. */
export function resourceOf(type: string, columns: Row) {
  switch (type.split('.')[0]) {
    case 'pet': {
      const pet = PETS.toRecord(columns);
      return { pet: petMessage(pet), inventory: inventoryMessage(pet) };
    }
    case 'order':
      return { order: ORDERS.toRecord(columns) };
    default:
      return { category: CATEGORIES.toRecord(columns) };
  }
}
