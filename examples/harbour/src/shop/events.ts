/** What an event has of the shop. */
import type { Row } from '../platform/storage/statement.ts';
import { boatMessage } from './boats/service.ts';
import { BOATS } from './boats/table.ts';
import { toMessage } from './inspections/service.ts';
import { INSPECTIONS } from './inspections/table.ts';
import { RENTALS } from './rentals/table.ts';

/** The resource after the change, or before its deletion. */
export function resourceOf(type: string, columns: Row) {
  if (type.startsWith('boat.')) return { boat: boatMessage(BOATS.toRecord(columns)) };
  if (type.startsWith('rental.')) return { rental: RENTALS.toRecord(columns) };
  return { inspection: toMessage(INSPECTIONS.toRecord(columns)) };
}
