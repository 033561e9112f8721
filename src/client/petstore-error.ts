/** What a call of the client rejects with. Everything that the server says of an error is read here, once. */
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo, RetryInfo } from '../../gen/google/rpc/error_details.ts';
import { Status } from '../../gen/google/rpc/status.ts';

/** One broken rule of one field of the request. */
export interface FieldViolation {
  /** The field's path in the request message, in JSON's spelling: `pet.categoryId`. */
  readonly field: string;
  /** What is wrong with it: `must be 1 to 200 characters after trimming`. */
  readonly description: string;
}

interface Fields {
  readonly code: string;
  readonly grpcStatus: status;
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number | undefined;
}

/** A call that failed: refused by the server, not delivered, or not answered within its deadline. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  /**
   * What happened, for programs: the reason in the server's `google.rpc.ErrorInfo`, such as `PET_NOT_FOUND` or
   * `RATE_LIMITED`. Where the server said nothing, the name of the gRPC status: `UNAVAILABLE`,
   * `DEADLINE_EXCEEDED`, `CANCELLED`.
   */
  readonly code: string;
  /** The canonical gRPC status, a number: 5 is NOT_FOUND. */
  readonly grpcStatus: status;
  /** The fields that broke a rule; empty when the error is about something else. */
  readonly violations: readonly FieldViolation[];
  /** In how many milliseconds the server wants to be asked again; undefined where asking again is no help. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { code, grpcStatus, violations = [], retryAfterMs }: Fields, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.grpcStatus = grpcStatus;
    this.violations = violations;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A call that the client itself ends: its time is over, or the client is closed. */
export function endedHere(code: 'DEADLINE_EXCEEDED' | 'CANCELLED', message: string): PetstoreError {
  return new PetstoreError(message, { code, grpcStatus: status[code] });
}

/** What grpc-js reports, as a PetstoreError. */
export function toPetstoreError(error: ServiceError): PetstoreError {
  const details = readDetails(error.metadata);
  const code = details.reason || (status[error.code] ?? 'UNKNOWN');
  const retryAfterMs = readPushback(error.metadata) ?? details.retryDelayMs;
  return new PetstoreError(error.details, {
    code,
    grpcStatus: error.code,
    violations: details.violations,
    retryAfterMs,
  });
}

interface Details {
  reason: string;
  violations: FieldViolation[];
  retryDelayMs: number | undefined;
}

/** The standard details of `google.rpc`; nothing where there are none or none that can be read. */
function readDetails(metadata: Metadata): Details {
  const details: Details = { reason: '', violations: [], retryDelayMs: undefined };
  const [bytes] = metadata.get('grpc-status-details-bin');
  if (!Buffer.isBuffer(bytes)) return details;
  try {
    for (const { typeUrl, value } of Status.decode(bytes).details) {
      switch (typeUrl.slice(typeUrl.lastIndexOf('/') + 1)) {
        case 'google.rpc.ErrorInfo':
          details.reason = ErrorInfo.decode(value).reason;
          break;
        case 'google.rpc.BadRequest':
          details.violations = BadRequest.decode(value).fieldViolations.map(toViolation);
          break;
        case 'google.rpc.RetryInfo':
          details.retryDelayMs = toMs(RetryInfo.decode(value).retryDelay);
          break;
      }
    }
  } catch {
    // Not from our server. The status and its message are still true.
  }
  return details;
}

function toViolation({ field, description }: FieldViolation): FieldViolation {
  return { field, description };
}

function toMs(delay: { seconds: bigint; nanos: number } | undefined): number | undefined {
  return delay && Number(delay.seconds) * 1_000 + Math.ceil(delay.nanos / 1_000_000);
}

/** The server's own hint to a client's retries (gRFC A6). A negative one means: not again. */
function readPushback(metadata: Metadata): number | undefined {
  const [text] = metadata.get('grpc-retry-pushback-ms');
  return typeof text === 'string' && /^\d+$/.test(text) ? Number(text) : undefined;
}
