/**
 * Idempotency keys: a caller who got no response sends the same request again, with the same `Idempotency-Key`, and the
 * request is carried out once.
 *
 * The record of a successful request is stored in the same transaction as its effect, so neither exists without the
 * other. Concurrent requests with one key on this server: the first runs, the others wait for it in memory, without a
 * database connection. On different servers each may run, but the database accepts one record: the other transactions
 * are rolled back, and their requests are answered from that record.
 *
 * Failure: a failed request leaves no record, and the next one that waits runs instead. When a response is lost, even
 * in a crash, its record remains, and the repeated request is answered from it.
 */
import { hash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { IDEMPOTENCY_KEY } from '../../config/constants.ts';
import { ApiError, apiError, invalidArgument } from '../../errors.ts';
import { decodeRequest } from '../../proto/operations.ts';
import type { IdempotencyRecord } from '../../storage/model.ts';
import { AlreadyDone } from '../../storage/store-errors.ts';
import type { AnyResponse, Call, Interceptor, Next, Response } from '../chain.ts';

export interface IdempotencyRecords {
  find(id: string): Promise<IdempotencyRecord | undefined>;
}

const HEADER = 'idempotency-key';
/** The header of a response that comes from the record of an earlier request. */
export const REPLAYED = 'idempotency-replayed';

type Request = Pick<IdempotencyRecord, 'id' | 'requestDigest'>;

interface Outcome {
  readonly record: IdempotencyRecord;
  /** Undefined when another request made the record. */
  readonly response?: AnyResponse;
}

export function idempotency(records: IdempotencyRecords): Interceptor {
  /** The requests in flight on this server, by id. Each resolves with its record; with undefined when it fails. */
  const inFlight = new Map<string, Promise<IdempotencyRecord | undefined>>();

  /** Carries out a request that has no record yet. */
  const execute = async (call: Call, next: Next, request: Request): Promise<Outcome> => {
    const existing = await records.find(request.id);
    if (existing !== undefined) return { record: existing };
    let record: IdempotencyRecord | undefined;
    call.remember = (message) => {
      record = { ...request, response: call.codec.responseSerialize(message), createdAtMs: Date.now() };
      return record;
    };
    try {
      const response = await next(call);
      if (record === undefined) throw new Error(`${call.operation.path} does not remember its response`);
      return { record, response };
    } catch (error) {
      // The same request on another server may be why: it stored its record first, or took the last unit.
      const mayBeDoneElsewhere = error instanceof AlreadyDone || error instanceof ApiError;
      const other = mayBeDoneElsewhere ? await records.find(request.id) : undefined;
      if (other === undefined) throw error;
      return { record: other };
    }
  };

  return async (call, next) => {
    const key = call.operation.takesIdempotencyKey ? idempotencyKeyOf(call) : undefined;
    if (key === undefined) return next(call);
    const request = { id: recordId(call, key), requestDigest: digestOf(call) };
    for (let other = inFlight.get(request.id); other !== undefined; other = inFlight.get(request.id)) {
      const record = await other;
      if (record !== undefined) return replay(call, request, record);
    }
    const outcome = execute(call, next, request);
    inFlight.set(
      request.id,
      outcome.then(({ record }) => record).catch(() => undefined),
    );
    try {
      const { record, response } = await outcome;
      return response ?? replay(call, request, record);
    } finally {
      inFlight.delete(request.id);
    }
  };
}

/** Undefined when the request has no key. Throws INVALID_ARGUMENT for a malformed one. */
function idempotencyKeyOf(call: Call): string | undefined {
  const key = call.header(HEADER);
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key;
  const description = 'must be one key of 1 to 255 visible ASCII characters, without a comma';
  throw invalidArgument([{ path: HEADER, name: HEADER, description }]);
}

/** Keys are scoped to an account and an operation. Neither of these contains a space, so the parts can't overlap. */
function recordId({ caller, operation }: Call, key: string): string {
  if (caller === undefined) throw new Error('an idempotency key came without a caller');
  return hash('sha256', `${caller.accountId} ${operation.path} ${key}`, 'base64url');
}

/**
 * A digest of the message in a canonical encoding: fields in the order of their numbers, without absent and unknown
 * ones. So the same request has the same digest from the transcoder and from any gRPC client.
 */
function digestOf({ operation, requestBytes }: Call): Buffer {
  const message = decodeRequest(operation, requestBytes);
  return hash('sha256', toBinary(operation.input, message, { writeUnknownFields: false }), 'buffer');
}

/** Throws IDEMPOTENCY_KEY_REUSED when the record is that of a different request. */
function replay(call: Call, { requestDigest }: Request, record: IdempotencyRecord): Response {
  if (!record.requestDigest.equals(requestDigest)) throw apiError('IDEMPOTENCY_KEY_REUSED');
  call.responseHeaders.set(REPLAYED, 'true');
  return { message: call.codec.responseDeserialize(record.response), bytes: record.response };
}
