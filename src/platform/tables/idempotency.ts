/** The `idempotency_records` table: completed requests with an idempotency key, and their responses. */
import type { Engine, Runner } from '../storage/engine.ts';
import { AlreadyDone } from '../storage/store-errors.ts';
import { bytes, integer, table, text } from './fields.ts';
import { compileInsert, lookup, oldest } from './table.ts';

/** A request that was carried out under an idempotency key, and its response. */
export interface IdempotencyRecord {
  /** Identifies the idempotency key of a caller: letters, digits, "-" and "_". */
  readonly id: string;
  /** Distinguishes this request from a different one under the same key. */
  readonly requestDigest: Buffer;
  /** The encoded response message. */
  readonly response: Buffer;
  readonly createdAtMs: number;
}

/** Makes the idempotency record for the result of a write. The record is stored in the transaction of that write. */
export type Remember = (result: unknown) => IdempotencyRecord;

const RECORDS = table<IdempotencyRecord>('idempotency_records', {
  id: text('id'),
  requestDigest: bytes('request_digest'),
  response: bytes('answer'),
  createdAtMs: integer('created_at_ms'),
});

export function idempotencyTable(engine: Engine) {
  const deleteOldest = oldest(engine, RECORDS.name, 'sequence', 'created_at_ms');
  const rest = 'order by key on conflict (id) do nothing returning sequence as id, id as record_id';
  // The records of writes that run at the same time share it.
  const insert = compileInsert(engine, RECORDS, RECORDS.columns, rest, ({ id }, row) => row.record_id === id);
  return {
    reads: { find: lookup(engine, RECORDS).find },
    writes: (tx: Runner) => ({
      /** Inserts a record. Waits for others that insert the same id. @throws AlreadyDone when the id has a record. */
      async insert(record: IdempotencyRecord): Promise<void> {
        if ((await tx.all(insert, RECORDS.toParams(record))).length === 0) throw new AlreadyDone();
      },
      deleteOldest: deleteOldest(tx),
    }),
  };
}
