/** An ApiError as a status of gRPC: the canonical code, the message, and standard details (google.rpc). */
import type { Any } from '../../../../gen/google/protobuf/any.ts';
import {
  BadRequest,
  ErrorInfo,
  QuotaFailure,
  QuotaFailure_Violation,
  RetryInfo,
} from '../../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../../gen/google/rpc/status.ts';
import { NAME } from '../../../identity.ts';
import type { ApiError } from '../../errors.ts';
import { errorHeaders } from '../../rpc/errors.ts';

/** When a gRPC client may retry by itself, in milliseconds (gRFC A6). */
const PUSHBACK = 'grpc-retry-pushback-ms';

export function toTrailers(error: ApiError): Readonly<Record<string, string>> {
  const { grpcStatus, message, retryAfterSeconds } = error;
  return {
    'grpc-status': String(grpcStatus),
    'grpc-message': encodeURI(message),
    ...errorHeaders(error),
    ...(retryAfterSeconds === undefined ? {} : { [PUSHBACK]: String(retryAfterSeconds * 1_000) }),
    'grpc-status-details-bin': detailsHeader(toDetails(error)),
  };
}

/** The value of `grpc-status-details-bin`: Base64, which senders should not pad. */
export function detailsHeader(status: Status): string {
  return unpadded(Status.encode(status).finish());
}

export function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('base64')
    .replace(/={1,2}$/, '');
}

export function toDetails({
  code,
  grpcStatus,
  message,
  violations,
  retryAfterSeconds,
  quotaSubject,
}: ApiError): Status {
  const details = [pack('ErrorInfo', ErrorInfo.encode({ reason: code, domain: NAME, metadata: {} }))];
  if (violations.length > 0) {
    const fields = violations.map(({ path: field, description }) => ({ field, description }));
    details.push(pack('BadRequest', BadRequest.encode(BadRequest.fromPartial({ fieldViolations: fields }))));
  }
  if (retryAfterSeconds !== undefined) {
    const retryDelay = { seconds: BigInt(retryAfterSeconds), nanos: 0 };
    details.push(pack('RetryInfo', RetryInfo.encode({ retryDelay })));
  }
  if (quotaSubject !== undefined) {
    const violation = QuotaFailure_Violation.fromPartial({ subject: quotaSubject, description: message });
    details.push(pack('QuotaFailure', QuotaFailure.encode({ violations: [violation] })));
  }
  return { code: grpcStatus, message, details };
}

function pack(name: string, encoded: { finish(): Uint8Array }): Any {
  return { typeUrl: `type.googleapis.com/google.rpc.${name}`, value: Buffer.from(encoded.finish()) };
}
