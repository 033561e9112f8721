/** The `boats` table. */
import type { Engine } from '../../platform/storage/engine.ts';
import { id, integer, list, table, text } from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { resource } from '../../platform/tables/table.ts';

export type BoatId = Id<'boat'>;
export const toBoatId = (id: bigint) => id as BoatId;

export interface Boat {
  readonly id: BoatId;
  readonly name: string;
  readonly seats: number;
  readonly equipment: readonly string[];
}

export const BOATS = table<Boat>('boats', {
  id: id<BoatId>('id'),
  name: text('name'),
  seats: integer('seats'),
  equipment: list('equipment', text),
});

/** The name that transactions which lock a boat queue under. */
export function contendedBoat(id: BoatId): string {
  return `boat ${id}`;
}

export function boatTable(engine: Engine) {
  return resource(engine, BOATS);
}
