/** The `idempotency_records` table: completed requests with an idempotency key, and their responses. */
import type { IdempotencyRecord } from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { bytes, integer, text } from './fields.ts';
import { compile, param } from './statement.ts';
import { AlreadyDone } from './store-errors.ts';
import { lookup, paramsOf, table } from './table.ts';

const RECORDS = table<IdempotencyRecord>('idempotency_records', {
  id: text('id'),
  requestDigest: bytes('request_digest'),
  response: bytes('answer'),
  createdAtMs: integer('created_at_ms'),
});

export function idempotencyTable(engine: Engine) {
  const { knex } = engine;
  const records = () => knex(RECORDS.name);
  const { byIds, find } = lookup(engine, RECORDS);
  // Raw SQL since knex drops `returning` from a delete, and its `limit` takes no parameter.
  const oldest = records()
    .select('sequence')
    .orderByRaw('?? limit ?', ['sequence', param('count')] as never);
  const deleteOldest = records().whereIn('sequence', oldest).where('created_at_ms', '<', param('beforeMs')).delete();
  const insert = records().insert(paramsOf(RECORDS.columns)).onConflict('id').ignore().returning('id');
  const statements = {
    byIds,
    insert: compile('idempotency.insert', insert),
    deleteOldest: compile('idempotency.delete_oldest', knex.raw('? returning ??', [deleteOldest, 'sequence'])),
  };
  return {
    statements,
    reads: { find },
    writes: (tx: Runner) => ({
      /**
       * Inserts a record. It waits for another transaction that is inserting the same id.
       *
       * @throws AlreadyDone when the id has a record.
       */
      async insert(record: IdempotencyRecord): Promise<void> {
        if ((await tx.all(statements.insert, RECORDS.toParams(record))).length === 0) throw new AlreadyDone();
      },
      /** Deletes those of the `count` oldest records that are older than `beforeMs`. Returns how many it deleted. */
      deleteOldest: async (count: number, beforeMs: number) =>
        (await tx.all(statements.deleteOldest, { count, beforeMs })).length,
    }),
  };
}
