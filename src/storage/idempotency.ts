/** The `idempotency_records` table: completed requests with an idempotency key, and their responses. */
import type { IdempotencyRecord } from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { bytes, integer, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, param } from './statement.ts';
import { AlreadyDone } from './store-errors.ts';

const COLUMNS = ['id', 'request_digest', 'answer', 'created_at_ms'] as const;

function toRecord(row: Row): IdempotencyRecord {
  return {
    id: text(row.id),
    requestDigest: bytes(row.request_digest),
    response: bytes(row.answer),
    createdAtMs: integer(row.created_at_ms),
  };
}

export function idempotencyStatements(engine: Engine) {
  const { knex } = engine;
  const records = () => knex('idempotency_records');
  const values = {
    id: param('id'),
    request_digest: param('requestDigest'),
    answer: param('response'),
    created_at_ms: param('createdAtMs'),
  };
  // Raw SQL since knex drops `returning` from a delete, and its `limit` takes no parameter.
  const oldest = records()
    .select('sequence')
    .orderByRaw('?? limit ?', ['sequence', param('count')] as never);
  const deleteOldest = records().whereIn('sequence', oldest).where('created_at_ms', '<', param('beforeMs')).delete();
  return {
    byIds: compile('idempotency.by_ids', engine.whereIdIn(records().select(COLUMNS), 'id', 'text')),
    insert: compile('idempotency.insert', records().insert(values).onConflict('id').ignore().returning('id')),
    deleteOldest: compile('idempotency.delete_oldest', knex.raw('? returning ??', [deleteOldest, 'sequence'])),
  };
}

export function idempotencyTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = idempotencyStatements(engine);
  const lookup = new BatchedLookup(async (ids: readonly string[]) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toRecord),
  );
  return {
    reads: { find: (id: string) => lookup.find(id) },
    writes: (tx: Runner) => ({
      /**
       * Inserts a record. It waits for another transaction that is inserting the same id.
       *
       * @throws AlreadyDone when the id has a record.
       */
      async insert(record: IdempotencyRecord): Promise<void> {
        if ((await tx.all(statements.insert, { ...record })).length === 0) throw new AlreadyDone();
      },
      /** Deletes those of the `count` oldest records that are older than `beforeMs`. Returns how many it deleted. */
      deleteOldest: async (count: number, beforeMs: number) =>
        (await tx.all(statements.deleteOldest, { count, beforeMs })).length,
    }),
  };
}
