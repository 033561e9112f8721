/**
 * gRPC on the wire (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). An ApiError is a status: the
 * canonical code, the message, and standard details (`google.rpc.ErrorInfo`, `BadRequest` and so on). Every other error
 * becomes one first, so that no internal cause reaches a caller.
 */
import { status as Code } from '@grpc/grpc-js';
import type { Any } from '../../../gen/google/protobuf/any.ts';
import {
  BadRequest,
  ErrorInfo,
  QuotaFailure,
  QuotaFailure_Violation,
  RetryInfo,
} from '../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../gen/google/rpc/status.ts';
import { NAME } from '../../identity.ts';
import { ApiError, apiError, invalidArgument } from '../errors.ts';
import { Cancelled, StoreUnavailable } from '../storage/store-errors.ts';
import type { Call } from './chain.ts';

/** When a gRPC client may retry by itself, in milliseconds (gRFC A6). */
const PUSHBACK = 'grpc-retry-pushback-ms';

/** The headers of every response. */
export const GRPC_HEADERS = {
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
  'grpc-encoding': 'identity',
};

/** The trailers of a success. */
export const GRPC_OK = { 'grpc-status': String(Code.OK) };

/** A message with its prefix: a byte for the compression, which there is none of, and four for the length. */
export function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(5 + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

export function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Cancelled) return apiError('DEADLINE_EXCEEDED');
  if (error instanceof StoreUnavailable) return apiError('UNAVAILABLE');
  return apiError('INTERNAL', { requestId }, { cause: error });
}

/** The trailers that end a call with `error`. */
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
  return Buffer.from(Status.encode(status).finish())
    .toString('base64')
    .replace(/={1,2}$/, '');
}

/** The headers of an error over any protocol. */
export function errorHeaders({ headers, retryAfterSeconds }: ApiError): Readonly<Record<string, string>> {
  return retryAfterSeconds === undefined ? headers : { ...headers, 'retry-after': String(retryAfterSeconds) };
}

/** The same as a `google.rpc.Status`. */
export function toDetails(error: ApiError): Status {
  const details = [
    pack('google.rpc.ErrorInfo', ErrorInfo.encode({ reason: error.code, domain: NAME, metadata: {} }).finish()),
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

/** The header `grpc-timeout`: one to eight digits and a unit, up to 99,999,999 hours. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The timeout in milliseconds; Infinity without a header, undefined for one that is malformed. */
export function parseTimeout(header: string | undefined): number | undefined {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const [, digits, unit = ''] = TIMEOUT.exec(header) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS_MS[unit] ?? 0);
}

/** Envoy passes that of a Connect caller on as gRPC's. */
export function invalidTimeout({ protocol }: Pick<Call, 'protocol'>): ApiError {
  const [name, description] =
    protocol.name === 'Connect'
      ? ['connect-timeout-ms', 'must be 1 to 10 digits']
      : ['grpc-timeout', 'must be 1 to 8 digits and a unit: H, M, S, m, u or n'];
  return invalidArgument([{ path: name, name, description }]);
}
