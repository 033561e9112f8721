/** The `inspections` table. Its ids are texts, which the server makes. */
import { randomUUID } from 'node:crypto';
import type { Engine, Runner } from '../../platform/storage/engine.ts';
import { compile, param } from '../../platform/storage/statement.ts';
import {
  bigInteger,
  type Instant,
  id,
  instant,
  oneOf,
  optional,
  record,
  table,
  text,
} from '../../platform/tables/fields.ts';
import type { Id } from '../../platform/tables/ids.ts';
import { orderBy } from '../../platform/tables/sort-order.ts';
import { resource } from '../../platform/tables/table.ts';
import type { BoatId } from '../boats/table.ts';

export type InspectionId = Id<'inspection', string>;
export const toInspectionId = (id: string) => id as InspectionId;

export const SEVERITIES = ['minor', 'major'] as const;

interface Money {
  readonly amount: bigint;
  readonly currency: string;
}

export interface Inspection {
  readonly id: InspectionId;
  readonly boatId: BoatId;
  readonly time: Instant;
  readonly finding: { readonly severity: (typeof SEVERITIES)[number]; readonly note: string | undefined };
  readonly estimate: Money | undefined;
  readonly cost: Money | undefined;
}

const money = (name: string) =>
  optional(record<Money>({ amount: bigInteger(`${name}_amount`), currency: text(`${name}_currency`) }));

export const INSPECTIONS = table<Inspection>('inspections', {
  id: text<InspectionId>('id'),
  boatId: id<BoatId>('boat_id'),
  time: instant('time'),
  finding: record<Inspection['finding']>({ severity: oneOf('severity', SEVERITIES), note: optional(text('note')) }),
  estimate: money('estimate'),
  cost: money('cost'),
});

/** Those of the same time follow each other by their ids. */
export const NEWEST_FIRST = orderBy(INSPECTIONS, 'page', ['time', 'id'], true);

export function inspectionTable(engine: Engine) {
  const newId = () => toInspectionId(randomUUID());
  const constant = ['boat_id', 'time_seconds', 'time_nanos'];
  const inspections = resource(engine, INSPECTIONS, { newId, constant, order: NEWEST_FIRST });
  const ofBoat = engine.knex('inspections').where('boat_id', param('boat_id'));
  const deleteOf = compile('inspections.delete_of', ofBoat.delete());
  return {
    reads: inspections.reads,
    writes: (tx: Runner) => ({
      ...inspections.writes(tx),
      deleteOf: async (boatId: BoatId) => void (await tx.all(deleteOf, INSPECTIONS.toParams({ boatId }))),
    }),
  };
}
