/**
 * The table of all errors, and their documentation: code, gRPC status, HTTP status and message. A message is public: it
 * gives the numbers and a way out, and never an internal cause. The cause of an unexpected failure is kept apart
 * (`cause`), and is only logged.
 */
import { status as Status } from '@grpc/grpc-js';
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from './config/constants.ts';

interface Row {
  readonly grpc: Status;
  readonly http: number;
  /** Headers of every response with this code. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When a retry makes sense, if that is the same for every error with this code. */
  readonly retryAfterSeconds?: number;
  // biome-ignore lint/suspicious/noExplicitAny: each row has its own fields; `ErrorFields` recovers their types.
  readonly message: (fields: any) => string;
}

/** RFC 6750, section 3. */
const CHALLENGE = { 'www-authenticate': 'Bearer' };

/** The maximum lengths of quoted input, of a field name and of a message. An error must fit into headers. */
const MAX_QUOTED = 200;
const MAX_NAME = 100;
const MAX_MESSAGE = 1_500;

/** In place of a window, for a limit on concurrent calls. */
export const AT_A_TIME = 'at a time';

/** Truncates a text. The cut may leave half a surrogate pair, which `grpc-message` can't carry, so that is replaced. */
export function short(text: string, max = MAX_QUOTED): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text.toWellFormed();
}

const TABLE = {
  MALFORMED_BODY: {
    grpc: Status.INVALID_ARGUMENT,
    http: 400,
    message: ({ detail }: { detail: string }) => `the request body can't be read: ${short(detail)}`,
  },
  INVALID_ARGUMENT: {
    grpc: Status.INVALID_ARGUMENT,
    http: 400,
    message: ({ violations }: { violations: readonly Violation[] }) =>
      violations.map(({ name, description }) => `${name}: ${description}`).join('; '),
  },
  UNSUPPORTED_CONTENT_TYPE: {
    grpc: Status.INVALID_ARGUMENT,
    http: 400,
    message: ({ contentType }: { contentType: string }) =>
      `a request with a body must say "Content-Type: application/json"; this one says ${
        contentType === '' ? 'nothing' : `"${short(contentType)}"`
      }`,
  },
  UNKNOWN_CATEGORY: {
    grpc: Status.INVALID_ARGUMENT,
    http: 400,
    message: ({ categoryId }: { categoryId: bigint }) => `categoryId: category ${categoryId} does not exist`,
  },
  UNKNOWN_PET: {
    grpc: Status.INVALID_ARGUMENT,
    http: 400,
    message: ({ petId }: { petId: bigint }) => `petId: pet ${petId} does not exist`,
  },
  API_KEY_MISSING: {
    grpc: Status.UNAUTHENTICATED,
    http: 401,
    headers: CHALLENGE,
    message: ({ seen }: { seen: string }) =>
      `an API key is needed: send "Authorization: Bearer <API_KEY>"${seen && `; ${seen}`}`,
  },
  API_KEY_INVALID: {
    grpc: Status.UNAUTHENTICATED,
    http: 401,
    headers: CHALLENGE,
    message: ({ isSuspended }: { isSuspended: boolean }) =>
      `the API key is not valid: ${isSuspended ? 'its account is suspended' : 'it is unknown, revoked or expired'}`,
  },
  PET_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ petId }: { petId: bigint }) => `pet ${petId} does not exist`,
  },
  CATEGORY_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ categoryId }: { categoryId: bigint }) => `category ${categoryId} does not exist`,
  },
  ORDER_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ orderId }: { orderId: bigint }) => `order ${orderId} does not exist`,
  },
  INVENTORY_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ petId }: { petId: bigint }) => `there is no inventory entry for pet ${petId}: the pet does not exist`,
  },
  ROUTE_NOT_FOUND: {
    grpc: Status.UNIMPLEMENTED,
    http: 404,
    message: ({ method, path }: { method: string; path: string }) =>
      `nothing answers to ${short(method)} ${short(path)}`,
  },
  METHOD_NOT_ALLOWED: {
    grpc: Status.UNIMPLEMENTED,
    http: 405,
    message: ({ method, path, allow }: { method: string; path: string; allow: string }) =>
      `${short(path)} does not answer to ${short(method)}; it answers to ${allow}`,
  },
  CATEGORY_IN_USE: {
    grpc: Status.FAILED_PRECONDITION,
    http: 409,
    message: ({ categoryId }: { categoryId: bigint }) =>
      `category ${categoryId} still has pets: move or delete them first`,
  },
  PET_IN_USE: {
    grpc: Status.FAILED_PRECONDITION,
    http: 409,
    message: ({ petId }: { petId: bigint }) =>
      `an order that is not complete names pet ${petId}: complete or cancel it first`,
  },
  INSUFFICIENT_STOCK: {
    grpc: Status.FAILED_PRECONDITION,
    http: 409,
    message: ({ petId, wanted, inStock }: { petId: bigint; wanted: number; inStock: number }) =>
      `pet ${petId}: quantity ${wanted} is more than the ${inStock} in stock`,
  },
  ORDER_COMPLETE: {
    grpc: Status.FAILED_PRECONDITION,
    http: 409,
    message: ({ orderId }: { orderId: bigint }) =>
      `order ${orderId} is complete: it can't be reopened, changed or cancelled`,
  },
  PRECONDITION_FAILED: {
    grpc: Status.ABORTED,
    http: 412,
    message: ({ etag }: { etag: string }) =>
      `what is stored has the ETag ${etag} now, which If-Match does not name: read it again before you change it`,
  },
  IDEMPOTENCY_KEY_REUSED: {
    grpc: Status.ALREADY_EXISTS,
    http: 409,
    message: () =>
      'Idempotency-Key: another request has been carried out under this key: send each new request with a new key',
  },
  REQUEST_TIMEOUT: {
    grpc: Status.DEADLINE_EXCEEDED,
    http: 408,
    message: () => `the request had not arrived whole ${BODY_TIMEOUT_MS / 1_000} seconds after its headers`,
  },
  BODY_TOO_LARGE: {
    grpc: Status.RESOURCE_EXHAUSTED,
    http: 413,
    message: () => `the request body is larger than ${MAX_BODY_BYTES / 1_024} KiB`,
  },
  RATE_LIMITED: {
    grpc: Status.RESOURCE_EXHAUSTED,
    http: 429,
    message: ({ limit, window, retryAfterSeconds }: { limit: number; window: string; retryAfterSeconds: number }) =>
      `the limit of ${limit} ${window === AT_A_TIME ? window : `per ${window}`} is used up: ` +
      `try again in ${retryAfterSeconds} s`,
  },
  API_KEY_BANNED: {
    grpc: Status.RESOURCE_EXHAUSTED,
    http: 429,
    message: ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      'the API key is banned for sending on after refusals: ' +
      `try again in ${retryAfterSeconds} s, and back off after a 429`,
  },
  OPERATOR_KEY_INVALID: {
    grpc: Status.UNAUTHENTICATED,
    http: 401,
    headers: CHALLENGE,
    message: () => 'an operator key is needed: send "Authorization: Bearer <OPERATOR_KEY>"',
  },
  ACCOUNT_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ accountId }: { accountId: bigint }) => `account ${accountId} does not exist`,
  },
  API_KEY_NOT_FOUND: {
    grpc: Status.NOT_FOUND,
    http: 404,
    message: ({ keyId }: { keyId: bigint }) => `API key ${keyId} does not exist`,
  },
  BAN_NOT_ENDED: {
    grpc: Status.UNAVAILABLE,
    http: 503,
    retryAfterSeconds: 1,
    message: () => "Redis is away, so other servers can't be told that the ban is over: try again when it is back",
  },
  INTERNAL: {
    grpc: Status.INTERNAL,
    http: 500,
    message: ({ requestId }: { requestId: string }) =>
      `something went wrong on our side; request id ${short(requestId)}`,
  },
  UNAVAILABLE: {
    grpc: Status.UNAVAILABLE,
    http: 503,
    retryAfterSeconds: 1,
    message: () => 'the service is not available just now; try again shortly',
  },
  DEADLINE_EXCEEDED: {
    grpc: Status.DEADLINE_EXCEEDED,
    http: 504,
    message: () => 'the request was not answered in time',
  },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof TABLE;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(TABLE, text);
}

type ErrorFields<C extends ErrorCode> = Parameters<(typeof TABLE)[C]['message']>[0];

/** A rule that a field violates. */
export interface Violation {
  /** The path in the request message, for `google.rpc.BadRequest`, with JSON names: `pet.categoryId`. */
  readonly path: string;
  /** The name in the error message, which REST and gRPC share: `categoryId`. */
  readonly name: string;
  /** What is wrong: `must be 1 to 200 characters after trimming`. */
  readonly description: string;
}

/** An error for the caller. Every other error becomes INTERNAL. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly grpcStatus: Status;
  readonly httpStatus: number;
  /** Response headers, or metadata in gRPC. */
  readonly headers: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** When a retry makes sense, in whole seconds; undefined when it does not. */
  readonly retryAfterSeconds: number | undefined;
  /** The subject whose quota is used up: `account:7`. */
  readonly quotaSubject: string | undefined;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions) {
    super(short(message, MAX_MESSAGE), { cause: options.cause });
    const row: Row = TABLE[code];
    this.name = 'ApiError';
    this.code = code;
    this.grpcStatus = options.grpcStatus ?? row.grpc;
    this.httpStatus = row.http;
    this.headers = { ...row.headers, ...options.headers };
    this.violations = options.violations ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.quotaSubject = options.quotaSubject;
  }
}

interface ApiErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  readonly retryAfterSeconds?: number;
  readonly quotaSubject?: string;
  /** Overrides the table where gRPC requires another status. */
  readonly grpcStatus?: Status;
  /** The cause. Logged, never sent. */
  readonly cause?: unknown;
}

/** Creates an error of the table. `fields` are those that its message needs. */
export function apiError<C extends ErrorCode>(
  code: C,
  ...[fields, options]: ErrorFields<C> extends undefined
    ? [fields?: undefined, options?: ApiErrorOptions]
    : [fields: ErrorFields<C>, options?: ApiErrorOptions]
): ApiError {
  const row: Row = TABLE[code];
  return new ApiError(code, row.message(fields), options ?? {});
}

/** A RATE_LIMITED for `limit` per `window`, or at a time, of the subject `account:7` or `address:192.0.2.1`. */
export function tooMany(limit: number, window: string, quotaSubject: string): ApiError {
  const retryAfterSeconds = 1;
  return apiError('RATE_LIMITED', { limit, window, retryAfterSeconds }, { retryAfterSeconds, quotaSubject });
}

/** An INVALID_ARGUMENT that names every field with a violation. */
export function invalidArgument(untruncated: readonly Violation[]): ApiError {
  const violations = untruncated.map(({ path, name, description }) => ({
    path: short(path, MAX_NAME),
    name: short(name, MAX_NAME),
    description: short(description),
  }));
  return apiError('INVALID_ARGUMENT', { violations }, { violations });
}
