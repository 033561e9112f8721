/** The `idempotency_records` table: what was done under which idempotency key, and how it was answered. */
import type { IdempotencyRecord } from '../model.ts';
import type { Engine, Row, Runner } from './engine.ts';
import { BatchedLookup } from './shared-reads.ts';
import { compile, param } from './statement.ts';
import { AlreadyDone } from './store-errors.ts';

export interface IdempotencyReader {
  find(id: string): Promise<IdempotencyRecord | undefined>;
}

/** Keeps records within a transaction. */
export interface IdempotencyWriter {
  /**
   * Waits while another transaction is about to insert the same id.
   *
   * @throws AlreadyDone when there is such a record.
   */
  insert(record: IdempotencyRecord): Promise<void>;
  /** Deletes those of the `count` oldest records that are older than `beforeMs`, and says how many they were. */
  deleteOldest(count: number, beforeMs: number): Promise<number>;
}

const COLUMNS = ['id', 'request_digest', 'answer', 'created_at_ms'] as const;

function toRecord(row: Row): IdempotencyRecord {
  return {
    id: row.id as string,
    requestDigest: row.request_digest as Buffer,
    answer: row.answer as Buffer,
    createdAtMs: Number(row.created_at_ms),
  };
}

export function idempotencyStatements(engine: Engine) {
  const { knex } = engine;
  const records = () => knex('idempotency_records');
  return {
    byIds: compile('idempotency.by_ids', engine.whereIdIn(records().select(COLUMNS), 'id', 'text')),
    insert: compile(
      'idempotency.insert',
      records()
        .insert({
          id: param('id'),
          request_digest: param('requestDigest'),
          answer: param('answer'),
          created_at_ms: param('createdAtMs'),
        })
        .onConflict('id')
        .ignore()
        .returning('id'),
    ),
    deleteOldest: compile(
      'idempotency.delete_oldest',
      // knex leaves `returning` out of a delete; its own `limit` takes no parameter, so it stands in the order.
      knex.raw('? returning ??', [
        records()
          .whereIn('sequence', (oldest) => {
            oldest
              .select('sequence')
              .from('idempotency_records')
              .orderByRaw('?? limit ?', ['sequence', param('count')] as never);
          })
          .where('created_at_ms', '<', param('beforeMs'))
          .delete(),
        'sequence',
      ]),
    ),
  };
}

type IdempotencyStatements = ReturnType<typeof idempotencyStatements>;

export function idempotencyReader(statements: IdempotencyStatements, { reader, toIdList }: Engine): IdempotencyReader {
  const lookup = new BatchedLookup(async (ids: readonly string[]) =>
    (await reader.all(statements.byIds, { ids: toIdList(ids) })).map(toRecord),
  );
  return { find: (id) => lookup.find(id) };
}

export function idempotencyWriter(statements: IdempotencyStatements, tx: Runner): IdempotencyWriter {
  return {
    async insert(record) {
      if ((await tx.all(statements.insert, { ...record })).length === 0) throw new AlreadyDone();
    },
    deleteOldest: async (count, beforeMs) => (await tx.all(statements.deleteOldest, { count, beforeMs })).length,
  };
}
