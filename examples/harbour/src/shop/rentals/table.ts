/** The `rentals` table: each account has its own. */
import type { Engine, Runner } from '../../platform/storage/engine.ts';
import { compile, param } from '../../platform/storage/statement.ts';
import { type Instant, id, instant, table } from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { ownedResource } from '../../platform/tables/owned.ts';
import type { BoatId } from '../boats/table.ts';

export type RentalId = Id<'rental'>;
export const toRentalId = (id: bigint) => id as RentalId;

export interface Rental {
  readonly id: RentalId;
  readonly boatId: BoatId;
  readonly start: Instant;
  readonly end: Instant;
}

export const RENTALS = table<Rental>('rentals', {
  id: id<RentalId>('id'),
  boatId: id<BoatId>('boat_id'),
  start: instant('start'),
  end: instant('end'),
});

export function rentalTable(engine: Engine) {
  const { knex } = engine;
  const rentals = ownedResource(engine, RENTALS, { constant: ['boat_id'] });
  const ofBoat = () => knex('rentals').select('id').where('boat_id', param('boat_id')).limit(1);
  const at = (name: string) => [param(`${name}_seconds`), param(`${name}_nanos`)];
  // Of all accounts: a boat is taken, whoever has it.
  const statements = {
    ofBoat: compile('rentals.of_boat', ofBoat()),
    // Those that start before the new one ends, and end after it starts.
    overlapping: compile(
      'rentals.overlapping',
      ofBoat()
        .whereRaw('(start_seconds, start_nanos) < (cast(? as bigint), cast(? as bigint))', at('end'))
        .whereRaw('(end_seconds, end_nanos) > (cast(? as bigint), cast(? as bigint))', at('start')),
    ),
  };
  return {
    reads: rentals.reads,
    writes: (tx: Runner) => ({
      ...rentals.writes(tx),
      existsFor: async (boatId: BoatId) => (await tx.all(statements.ofBoat, RENTALS.toParams({ boatId }))).length > 0,
      /** Whether another rental of the boat has a part of this one's time. */
      overlaps: async (rental: Omit<Rental, 'id'>) =>
        (await tx.all(statements.overlapping, RENTALS.toParams(rental))).length > 0,
    }),
  };
}
