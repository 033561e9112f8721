/** The `idempotency_records` table: completed requests with an idempotency key, and their responses. */
import type { IdempotencyRecord } from '../model.ts';
import type { Engine } from './engine.ts';
import { bytes, integer, type Row, text } from './row.ts';
import { BatchedLookup } from './shared-reads.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, param } from './statement.ts';
import { AlreadyDone } from './store-errors.ts';

export interface IdempotencyReader {
  find(id: string): Promise<IdempotencyRecord | undefined>;
}

export interface IdempotencyWrites {
  /**
   * Inserts a record. It waits for another transaction that is inserting the same id.
   *
   * @throws AlreadyDone when the id has a record.
   */
  insert(record: IdempotencyRecord): SingleStatement<void>;
  /** Deletes those of the `count` oldest records that are older than `beforeMs`. Returns the number of deleted rows. */
  deleteOldest(count: number, beforeMs: number): SingleStatement<number>;
}

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
  return {
    byIds: compile('idempotency.by_ids', engine.whereIdIn(records().select(COLUMNS), 'id', 'text')),
    insert: compile(
      'idempotency.insert',
      records()
        .insert({
          id: param('id'),
          request_digest: param('requestDigest'),
          answer: param('response'),
          created_at_ms: param('createdAtMs'),
        })
        .onConflict('id')
        .ignore()
        .returning('id'),
    ),
    deleteOldest: compile(
      'idempotency.delete_oldest',
      // Raw SQL since knex drops `returning` from a delete, and its `limit` takes no parameter.
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

export function idempotencyWrites(statements: IdempotencyStatements): IdempotencyWrites {
  return {
    insert: (record) =>
      SingleStatement.of(statements.insert, { ...record }, (rows) => {
        if (rows.length === 0) throw new AlreadyDone();
      }),
    deleteOldest: (count, beforeMs) =>
      SingleStatement.of(statements.deleteOldest, { count, beforeMs }, (rows) => rows.length),
  };
}
