/** What an event has of the shop. */
import type { Row } from '../platform/storage/fields.ts';
import { boatMessage } from './boats/service.ts';
import { BOATS } from './boats/table.ts';
import { RENTALS } from './rentals/table.ts';

/** The resource after the change, or before its deletion. */
export function resourceOf(type: string, columns: Row) {
  return type.startsWith('boat.')
    ? { boat: boatMessage(BOATS.toRecord(columns)) }
    : { rental: RENTALS.toRecord(columns) };
}
