/**
 * Idempotency keys: a caller who got no response sends the same request again, under the same `Idempotency-Key`, and what it
 * asks for is done once. The contract's section 9 says what the header must be and what is the same request.
 *
 * The record of a success is stored by the very transaction that it is the success of, so that there is never one
 * without the other. Of requests with one key that meet in this server, one does the work and the others wait, in
 * memory: they hold no connection to the database. Of requests that meet in different servers each may do the work, but
 * the database keeps one record, and whoever comes too late is undone and finds it.
 *
 * Failure: a request that fails leaves no record, and the next of those that wait does the work itself. One whose response
 * was lost, even in a crash, has its record and is answered by it when it is sent again.
 */
import { hash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { IDEMPOTENCY_KEY } from '../config/constants.ts';
import { ApiError, apiError, invalidArgument } from '../errors.ts';
import type { IdempotencyRecord } from '../model.ts';
import { decodeRequest } from '../proto/operations.ts';
import { AlreadyDone } from '../storage/store-errors.ts';
import type { Call, Interceptor, Next, Response } from './chain.ts';

/** Finds what is remembered of a request. */
export interface IdempotencyRecords {
  find(id: string): Promise<IdempotencyRecord | undefined>;
}

const HEADER = 'idempotency-key';
/** The metadata that marks a response from the record of an earlier call. */
export const REPLAYED = 'idempotency-replayed';

type Request = Pick<IdempotencyRecord, 'id' | 'requestDigest'>;

/** A record, and the response when this very call has made both. */
interface Done {
  readonly record: IdempotencyRecord;
  readonly response?: Response;
}

export function idempotency(records: IdempotencyRecords, nowMs: () => number = Date.now): Interceptor {
  /** By id, the requests that this server is busy with: their records, or nothing of those that fail. */
  const underWay = new Map<string, Promise<IdempotencyRecord | undefined>>();

  const doOnce = async (call: Call, next: Next, request: Request): Promise<Done> => {
    const earlier = await records.find(request.id);
    if (earlier !== undefined) return { record: earlier };
    let record: IdempotencyRecord | undefined;
    call.remember = (message) => {
      record = { ...request, answer: call.responseCodec.serialize(message), createdAtMs: nowMs() };
      return record;
    };
    try {
      const response = await next(call);
      if (record === undefined) throw new Error(`${call.operation.path} does not remember what it answers`);
      return { record, response };
    } catch (error) {
      // What another server has done meanwhile is in the way: there is a record already, or the last unit is gone.
      const isInTheWay = error instanceof AlreadyDone || error instanceof ApiError;
      const other = isInTheWay ? await records.find(request.id) : undefined;
      if (other === undefined) throw error;
      return { record: other };
    }
  };

  return {
    name: 'idempotency',
    after: {
      limits: 'a replay counts like any request',
      validation: 'a request that is not valid is a 400, whatever was done under its key',
    },
    async intercept(call, next) {
      const key = call.operation.takesIdempotencyKey ? keyOf(call) : undefined;
      if (key === undefined) return next(call);
      const request = { id: recordId(call, key), requestDigest: digestOf(call) };
      for (let other = underWay.get(request.id); other !== undefined; other = underWay.get(request.id)) {
        const record = await other;
        if (record !== undefined) return replay(call, request, record);
      }
      const doing = doOnce(call, next, request);
      underWay.set(
        request.id,
        doing.then(
          ({ record }) => record,
          () => undefined,
        ),
      );
      try {
        const { record, response } = await doing;
        return response ?? replay(call, request, record);
      } finally {
        underWay.delete(request.id);
      }
    },
  };
}

/** The caller's key; undefined when there is none. */
function keyOf({ metadata }: Call): string | undefined {
  const values = metadata.get(HEADER);
  if (values.length === 0) return undefined;
  const key = values.join();
  if (IDEMPOTENCY_KEY.test(key)) return key;
  const description = 'must be one key of 1 to 255 visible ASCII characters, without a comma';
  throw invalidArgument([{ path: HEADER, name: HEADER, description }]);
}

/** Keys are per account and operation. The parts can't run into each other: neither of the first two has a space. */
function recordId({ caller, operation }: Call, key: string): string {
  if (caller === undefined) throw new Error('an idempotency key came without a caller');
  return hash('sha256', `${caller.accountId} ${operation.path} ${key}`, 'base64url');
}

/**
 * A digest of the message, not of its bytes: fields in the order of their numbers, those that are absent left out, and
 * unknown ones dropped. So the transcoder and a gRPC client that send the same get the same.
 */
function digestOf({ operation, requestBytes }: Call): Buffer {
  const message = decodeRequest(operation, requestBytes);
  return hash('sha256', toBinary(operation.input, message, { writeUnknownFields: false }), 'buffer');
}

function replay(call: Call, { requestDigest }: Request, record: IdempotencyRecord): Response {
  if (!record.requestDigest.equals(requestDigest)) throw apiError('IDEMPOTENCY_KEY_REUSED');
  call.responseHeaders.set(REPLAYED, 'true');
  return { message: call.responseCodec.deserialize(record.answer), bytes: record.answer };
}
