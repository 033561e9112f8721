/** The error that a call of the client rejects with, and how it is read from the server's status details. */
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo } from '../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../gen/google/rpc/status.ts';
import { CLASS_NAME } from '../../identity.ts';

export interface FieldViolation {
  /** The field's path in the request message, in camel case, as in the types: `order.shipDate`. */
  readonly field: string;
  /** What is wrong with the field: `must be 1 to 200 characters after trimming`. */
  readonly description: string;
}

const GRPC_TYPE = 'application/grpc';
/** A pushback is an int32. */
const MAX_PUSHBACK_MS = 2 ** 31 - 1;

type Fields = Pick<CallError, 'code' | 'grpcStatus'> & Partial<Pick<CallError, 'violations' | 'retryAfterMs'>>;

/**
 * A failed call: the server refused it, could not be reached, or did not respond before the deadline. The typed client
 * publishes it under the service's name.
 */
export class CallError extends Error {
  override readonly name: string = `${CLASS_NAME}Error`;
  /**
   * The reason in the server's `google.rpc.ErrorInfo`, such as `RATE_LIMITED`. Without one, the
   * name of the gRPC status: `UNAVAILABLE`, `DEADLINE_EXCEEDED`, `CANCELLED`.
   */
  readonly code: string;
  /** The gRPC status code, a number: 5 is NOT_FOUND. */
  readonly grpcStatus: status;
  /** The violated rules of fields; empty when the error is about something else. */
  readonly violations: readonly FieldViolation[];
  /** How long to wait before a retry, in milliseconds; undefined when a retry is of no use. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { code, grpcStatus, violations = [], retryAfterMs }: Fields, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.grpcStatus = grpcStatus;
    this.violations = violations;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The error of a call that the client itself ends: its deadline has passed, or the client is closed. */
export function clientError(code: 'DEADLINE_EXCEEDED' | 'CANCELLED', message: string): CallError {
  return new CallError(message, { code, grpcStatus: status[code] });
}

/**
 * An error of grpc-js as a CallError, with the standard details of `google.rpc` if it has them. `received` are the
 * headers of the response: grpc-js takes a web page for messages, and tells what that leads to.
 */
export function toCallError(error: ServiceError, received?: Metadata): CallError {
  const { code: grpcStatus, details: message, metadata } = error;
  const type = received?.get('content-type')[0]?.toString() ?? GRPC_TYPE;
  if (!type.toLowerCase().startsWith(GRPC_TYPE)) {
    const what = `the response is ${type}, not gRPC: is this the address of the service, and not of a page?`;
    return new CallError(what, { code: 'UNKNOWN', grpcStatus: status.UNKNOWN }, { cause: error });
  }
  let code = status[grpcStatus] ?? 'UNKNOWN';
  let violations: FieldViolation[] = [];
  const [bytes] = metadata.get('grpc-status-details-bin');
  try {
    for (const { typeUrl, value } of Buffer.isBuffer(bytes) ? Status.decode(bytes).details : []) {
      if (typeUrl.endsWith('/google.rpc.ErrorInfo')) code = ErrorInfo.decode(value).reason;
      if (!typeUrl.endsWith('/google.rpc.BadRequest')) continue;
      violations = BadRequest.decode(value).fieldViolations.map(({ field, description }) => {
        return { field: field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()), description };
      });
    }
  } catch {
    // Not from this service. The status and its message still hold.
  }
  // The server's pushback (gRFC A6) is the one hint that Envoy's own refusals have too. If negative: no retry.
  const [pushback] = metadata.get('grpc-retry-pushback-ms');
  const pushbackMs = typeof pushback === 'string' && /^\d+$/.test(pushback) ? Number(pushback) : Number.NaN;
  const retryAfterMs = pushbackMs <= MAX_PUSHBACK_MS ? pushbackMs : undefined;
  return new CallError(message, { code, grpcStatus, violations, retryAfterMs });
}
