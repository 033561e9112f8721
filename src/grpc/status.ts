/**
 * Converts an ApiError into a gRPC status: the canonical code, the message, and standard details
 * (`google.rpc.ErrorInfo`, `BadRequest`, `RetryInfo`, `QuotaFailure`).
 */
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import type { Any } from '../../gen/google/protobuf/any.ts';
import {
  BadRequest,
  ErrorInfo,
  QuotaFailure,
  QuotaFailure_Violation,
  RetryInfo,
} from '../../gen/google/rpc/error_details.ts';
import { Status } from '../../gen/google/rpc/status.ts';
import type { ApiError } from '../errors.ts';

const DOMAIN = 'petstore';
/** When a gRPC client may retry by itself, in milliseconds (gRFC A6). */
const PUSHBACK = 'grpc-retry-pushback-ms';

/** The status that ends a call with `error`. `headers` are added to those of the error. */
export function toStatus(error: ApiError, headers: Iterable<readonly [string, string]> = []): StatusObject {
  const metadata = new Metadata();
  for (const [name, value] of headers) metadata.set(name, value);
  for (const [name, value] of Object.entries(error.headers)) metadata.set(name, value);
  if (error.retryAfterSeconds !== undefined) {
    metadata.set('retry-after', String(error.retryAfterSeconds));
    metadata.set(PUSHBACK, String(error.retryAfterSeconds * 1_000));
  }
  metadata.set('grpc-status-details-bin', Buffer.from(Status.encode(toDetails(error)).finish()));
  return { code: error.grpcStatus, details: error.message, metadata };
}

/** The same as a `google.rpc.Status`. */
export function toDetails(error: ApiError): Status {
  const details = [
    pack('google.rpc.ErrorInfo', ErrorInfo.encode({ reason: error.code, domain: DOMAIN, metadata: {} }).finish()),
  ];
  if (error.violations.length > 0) {
    const fieldViolations = error.violations.map(({ path, description }) => ({
      field: path,
      description,
      reason: '',
      localizedMessage: undefined,
    }));
    details.push(pack('google.rpc.BadRequest', BadRequest.encode({ fieldViolations }).finish()));
  }
  if (error.retryAfterSeconds !== undefined) {
    const retryDelay = { seconds: BigInt(error.retryAfterSeconds), nanos: 0 };
    details.push(pack('google.rpc.RetryInfo', RetryInfo.encode({ retryDelay }).finish()));
  }
  if (error.quotaSubject !== undefined) {
    const violation = QuotaFailure_Violation.fromPartial({ subject: error.quotaSubject, description: error.message });
    details.push(pack('google.rpc.QuotaFailure', QuotaFailure.encode({ violations: [violation] }).finish()));
  }
  return { code: error.grpcStatus, message: error.message, details };
}

function pack(typeName: string, value: Uint8Array): Any {
  return { typeUrl: `type.googleapis.com/${typeName}`, value: Buffer.from(value) };
}
