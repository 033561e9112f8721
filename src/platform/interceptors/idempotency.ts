/**
 * Idempotency keys: a request that is sent again, with the same `Idempotency-Key`, is carried out once.
 *
 * The record of a successful request is stored in the same transaction as its effect, so neither exists without the
 * other. Of concurrent requests with one key, on one server or several, the database accepts one record: the other
 * transactions are rolled back, and their requests get the response of that record.
 *
 * Failure: a failed request leaves no record, so the next one is carried out. When a response is lost, even in a crash,
 * its record remains, and the repeated request gets it.
 */
import { hash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { IDEMPOTENCY_KEY } from '../config/constants.ts';
import { ApiError, apiError, invalidArgument } from '../errors.ts';
import { around, type Call, type Next, type Notes, type UnaryResponse } from '../rpc/chain.ts';
import { AlreadyDone } from '../storage/store-errors.ts';
import type { IdempotencyRecord } from '../tables/idempotency.ts';
import type { PLATFORM_TABLES, Reads } from '../tables/store.ts';

const HEADER = 'idempotency-key';

type Request = Pick<IdempotencyRecord, 'id' | 'requestDigest'>;
type Remembering = Call & Required<Pick<Call, 'caller'>> & Pick<Notes, 'remember'>;

const after = {
  limits: 'a replay counts',
  etags: 'an invalid request gets a 400',
  deprecation: 'a replay is a use of the operation',
};

export const idempotency = (records: Reads<typeof PLATFORM_TABLES>['idempotency']) => {
  const rules = { name: 'idempotency', needs: ['caller', 'request'], leaves: ['remember'], after } as const;
  const once = async (call: Remembering, key: string, next: Next) => {
    // In a canonical encoding, fields in the order of their numbers, without absent and unknown ones: so the same
    // request has the same digest from the transcoder and from any gRPC client.
    const requestDigest = hash('sha256', toBinary(call.operation.input, call.request), 'buffer');
    const request = { id: recordId(call, key), requestDigest };
    const existing = await records.find(request.id);
    if (existing !== undefined) return replay(call, request, existing);
    call.remember = (message) => {
      return { ...request, response: call.codec.responseSerialize(message), createdAtMs: Date.now() };
    };
    try {
      return await next(call);
    } catch (error) {
      // The same request may be why: it stored its record first, or took the last unit.
      const mayBeDone = error instanceof AlreadyDone || error instanceof ApiError;
      const other = mayBeDone ? await records.find(request.id) : undefined;
      if (other === undefined) throw error;
      return replay(call, request, other);
    }
  };
  return around(rules, (call, next) => {
    const key = call.operation.takesIdempotencyKey ? idempotencyKeyOf(call) : undefined;
    return key === undefined ? next(call) : once(call, key, next);
  });
};

/** Undefined when the request has no key. Throws INVALID_ARGUMENT for a malformed one. */
function idempotencyKeyOf(call: Call): string | undefined {
  const key = call.header(HEADER);
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return key;
  const description = 'must be one key of 1 to 255 visible ASCII characters, without a comma';
  throw invalidArgument([{ path: HEADER, name: 'Idempotency-Key', description }]);
}

/** Keys are scoped to an account and an operation. Neither of these contains a space, so the parts can't overlap. */
function recordId({ caller, operation }: Pick<Required<Call>, 'caller' | 'operation'>, key: string): string {
  return hash('sha256', `${caller.accountId} ${operation.path} ${key}`, 'base64url');
}

/** Throws IDEMPOTENCY_KEY_REUSED when the record is that of a different request. */
function replay(call: Call, { requestDigest }: Request, record: IdempotencyRecord): UnaryResponse {
  if (!record.requestDigest.equals(requestDigest)) throw apiError('IDEMPOTENCY_KEY_REUSED');
  call.responseHeaders.set('idempotency-replayed', 'true');
  return { message: call.codec.responseDeserialize(record.response), bytes: record.response };
}
