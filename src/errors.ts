/**
 * The one table of everything that can go wrong, and its documentation: each code's gRPC status, HTTP status and
 * message. A message is public: it gives the numbers and a way out, and never a cause. The cause of an
 * unexpected failure travels beside it (`cause`) and ends in the log only.
 */
import { status as Status } from '@grpc/grpc-js';
import { BODY_TIMEOUT_MS, MAX_BODY_BYTES } from './config/constants.ts';

interface Row {
  readonly grpc: Status;
  readonly http: number;
  /** Headers that belong to every answer with this code. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When to try again, where it is always the same. */
  readonly retryAfterSeconds?: number;
  // biome-ignore lint/suspicious/noExplicitAny: each row names its own fields; `ErrorFields` recovers them.
  readonly message: (fields: any) => string;
}

/** RFC 6750, section 3. */
const CHALLENGE = { 'www-authenticate': 'Bearer' };

/**
 * Of a caller's own words, of a field's name, and of a whole message: so much that an error always fits into headers.
 */
const MAX_QUOTED = 200;
const MAX_NAME = 100;
const MAX_MESSAGE = 1_500;

/** In the place of a window, where calls are counted that are open together. */
export const AT_A_TIME = 'at a time';

/** Half a surrogate pair, which the cut may leave, can't be sent in `grpc-message`. */
function short(text: string, max = MAX_QUOTED): string {
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
    message: () => 'an API key is needed: send "Authorization: Bearer <API_KEY>"',
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
      `the limit of ${limit} ${window === AT_A_TIME ? window : `per ${window}`} is used up: try again in ${retryAfterSeconds} s`,
  },
  API_KEY_BANNED: {
    grpc: Status.RESOURCE_EXHAUSTED,
    http: 429,
    message: ({ retryAfterSeconds }: { retryAfterSeconds: number }) =>
      `the API key is banned for sending on after refusals: try again in ${retryAfterSeconds} s, and back off after a 429`,
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

/** A rule that one field breaks. */
export interface Violation {
  /**
   * The path of the field in the gRPC request message, for `google.rpc.BadRequest`, in JSON's spelling, as in the
   * message, which REST and gRPC share: `pet.categoryId`.
   */
  readonly path: string;
  /** The name that a caller knows, for the message: `categoryId`. */
  readonly name: string;
  /** What is wrong: `must be 1 to 200 characters after trimming`. */
  readonly description: string;
}

/** An error that the caller is to see. Anything else that is thrown becomes INTERNAL. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly grpcStatus: Status;
  readonly httpStatus: number;
  /** Response headers (metadata on gRPC) that belong to this error. */
  readonly headers: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** When it makes sense to try again, in whole seconds; undefined where trying again is no help. */
  readonly retryAfterSeconds: number | undefined;
  /** Whose quota is used up: `account:7`. */
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
  /** Where gRPC itself asks for another status than the table has. */
  readonly grpcStatus?: Status;
  /** Why it happened. Logged, never sent. */
  readonly cause?: unknown;
}

/** An error of the table, with the numbers that its message needs. */
export function apiError<C extends ErrorCode>(
  code: C,
  ...[fields, options]: ErrorFields<C> extends undefined
    ? [fields?: undefined, options?: ApiErrorOptions]
    : [fields: ErrorFields<C>, options?: ApiErrorOptions]
): ApiError {
  const row: Row = TABLE[code];
  return new ApiError(code, row.message(fields), options ?? {});
}

/** A 400 that names every field that broke a rule. */
export function invalidArgument(found: readonly Violation[]): ApiError {
  const violations = found.map(({ path, name, description }) => ({
    path: short(path, MAX_NAME),
    name: short(name, MAX_NAME),
    description: short(description),
  }));
  return apiError('INVALID_ARGUMENT', { violations }, { violations });
}
