/** InspectionService: what was found on a boat, and what it costs. */
import {
  Inspection as InspectionMessage,
  type InspectionServiceServer,
  type NewInspection,
  Finding_Severity as ProtoSeverity,
} from '../../../gen/harbour/v1/inspections.ts';
import { existing } from '../../platform/errors.ts';
import { checkIfMatch } from '../../platform/rpc/if-match.ts';
import type { Context, Service } from '../../platform/rpc/methods.ts';
import { pageTokens } from '../../platform/rpc/page-token.ts';
import { toTimestamp } from '../../platform/tables/fields.ts';
import { contendedBoat, toBoatId } from '../boats/table.ts';
import { shopError } from '../errors.ts';
import type { ShopStore, ShopTransaction } from '../tables.ts';
import { type Inspection, NEWEST_FIRST, SEVERITIES, toInspectionId } from './table.ts';

const PAGES = pageTokens(3, NEWEST_FIRST);

interface Named {
  readonly boatId: bigint;
  readonly inspectionId: string;
}

/** Of another boat it is not found, as if it were not there. */
function ofBoat({ boatId, inspectionId }: Named, found: Inspection | undefined): Inspection {
  const inspection = found?.boatId === boatId ? found : undefined;
  return existing(inspection, () => shopError('INSPECTION_NOT_FOUND', { inspectionId }));
}

export function inspectionService(store: ShopStore): Service<InspectionServiceServer> {
  /** Stores inspections of a boat, which can't be deleted meanwhile. */
  const create = <T>(id: bigint, call: Context, work: (add: Add) => Promise<T>) => {
    const boatId = toBoatId(id);
    return store.forCall(call, contendedBoat(boatId)).transaction(async (tx: ShopTransaction) => {
      existing(await tx.boats.lock(boatId), () => shopError('BOAT_NOT_FOUND', { boatId }));
      const time = toTimestamp(Date.now());
      return work(async (inspection) =>
        toMessage(await tx.inspections.insert({ boatId, time, ...fieldsOf(inspection), cost: undefined })),
      );
    });
  };

  return {
    async listInspections({ boatId: id, from, to, ...request }) {
      const boatId = toBoatId(id);
      existing(await store.boats.find(boatId), () => shopError('BOAT_NOT_FOUND', { boatId }));
      const asked = PAGES.toPageRequest(request, NEWEST_FIRST.range(from, to));
      const page = await store.inspections.page(asked, { boatId });
      return { inspections: page.rows.map(toMessage), nextPageToken: PAGES.next(page, NEWEST_FIRST.keyOf) };
    },

    createInspection: ({ boatId, inspection }, call) => create(boatId, call, (add) => add(inspection)),

    batchCreateInspections: ({ boatId, inspections }, call) =>
      create(boatId, call, async (add) => {
        const stored: InspectionMessage[] = [];
        for (const inspection of inspections) stored.push(await add(inspection));
        return { inspections: stored };
      }),

    getInspection: async (named) =>
      toMessage(ofBoat(named, await store.inspections.find(toInspectionId(named.inspectionId)))),

    closeInspection: ({ cost, ...named }, call) =>
      store.forCall(call, `inspection ${named.inspectionId}`).transaction(async ({ inspections }) => {
        const inspection = ofBoat(named, await inspections.lock(toInspectionId(named.inspectionId)));
        checkIfMatch(call, InspectionMessage, toMessage(inspection));
        if (inspection.cost !== undefined) throw shopError('INSPECTION_CLOSED', named);
        const closed = { ...inspection, cost };
        await inspections.update(closed);
        return toMessage(closed);
      }),
  };
}

type Add = (inspection: NewInspection | undefined) => Promise<InspectionMessage>;

/** Validation has checked that there is a finding, of a severity. */
function fieldsOf(inspection: NewInspection | undefined): Pick<Inspection, 'finding' | 'estimate'> {
  const { severity, note } = inspection?.finding ?? {};
  const known = SEVERITIES.find((name) => ProtoSeverity[name] === severity) ?? 'minor';
  return { finding: { severity: known, note }, estimate: inspection?.estimate };
}

export function toMessage({ finding, ...inspection }: Inspection): InspectionMessage {
  return { ...inspection, finding: { ...finding, severity: ProtoSeverity[finding.severity] } };
}
