/**
 * Errors as tables, which are also their documentation: code, gRPC status, HTTP status and message. A message is
 * public: it gives the numbers and a way out. A cause (`cause`) is only logged.
 */
import { status as Status } from '@grpc/grpc-js';
import { NAME } from '../identity.ts';
import { MAX_BODY_BYTES } from './config/constants.ts';
import { BODY_TIMEOUT_MS } from './config/times.ts';

export interface Row {
  readonly http: number;
  readonly grpc: Status;
  // biome-ignore lint/suspicious/noExplicitAny: each row has its own fields; `ErrorFields` recovers their types.
  readonly message: (fields: any) => string;
  /** Headers of every response with this code. */
  readonly headers?: Readonly<Record<string, string>>;
  /** If it is the same for every error with this code. */
  readonly retryAfterSeconds?: number;
  /** The field that every error with this code is about. Its name stands before the message. */
  readonly field?: Pick<Violation, 'path' | 'name'>;
}

/**
 * The maximum bytes of quoted input, of a field name, of a description, and of a message or all violations, as
 * `grpc-message` writes them. gRPC has the text of an error three times, twice in Base64: all headers together have
 * less than 6 KiB then, and clients read 8.
 */
const MAX_QUOTED = 200;
const MAX_NAME = 100;
const MAX_DESCRIPTION = 400;
const MAX_TEXT = 1_000;

/** In place of a window, for a limit on concurrent calls. */
export const AT_A_TIME = 'at a time';

const bytesOf = (text: string) => encodeURI(text).length;

/** Truncates a text to its bytes in a header. Half a surrogate pair, which no header can carry, is replaced. */
export function short(text: string, maxBytes = MAX_QUOTED): string {
  const whole = text.toWellFormed();
  if (bytesOf(whole) <= maxBytes) return whole;
  let [bytes, kept] = [bytesOf('…'), ''];
  for (const character of whole) {
    bytes += bytesOf(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return `${kept}…`;
}

/** A row whose message takes `Fields`. */
export function row<Fields = undefined>(http: number, grpc: Status, message: (fields: Fields) => string) {
  return { http, grpc, message } satisfies Row;
}

function invalid<Fields = undefined>(message: (fields: Fields) => string) {
  return row(400, Status.INVALID_ARGUMENT, message);
}

function exhausted<Fields = undefined>(http: 413 | 429, message: (fields: Fields) => string) {
  return row(http, Status.RESOURCE_EXHAUSTED, message);
}

/** With a challenge (RFC 6750, section 3), which has a realm and perhaps more. */
function unauthenticated<Fields = undefined>(more: string, message: (fields: Fields) => string) {
  const challenge = `Bearer realm="${NAME}"${more}`;
  return { ...row(401, Status.UNAUTHENTICATED, message), headers: { 'www-authenticate': challenge } };
}

function doesNotExist<Name extends string>(what: string, name: Name) {
  return ({ [name]: id }: Record<Name, bigint | string>) => {
    const isShown = typeof id === 'bigint' || /^[\w-]{1,64}$/.test(id); // a text is any, and of any length
    return isShown ? `${what} ${id} does not exist` : `there is no ${what} of this id`;
  };
}

/** What an id in the path, in the field `name`, does not name. */
export function notFound<Name extends string>(what: string, name: Name) {
  return row(404, Status.NOT_FOUND, doesNotExist(what, name));
}

/** What an id in the body, in the field `name`, does not name. */
export function unknown<Name extends string>(what: string, name: Name, path: string) {
  return { ...invalid(doesNotExist(what, name)), field: { path, name } };
}

function unavailable(message: () => string) {
  return { ...row(503, Status.UNAVAILABLE, message), retryAfterSeconds: 1 };
}

/** The errors of the platform. A wing has a table of its own. */
export const PLATFORM_ERRORS = {
  MALFORMED_BODY: invalid<{ detail: string }>(({ detail }) => `the request body can't be read: ${short(detail)}`),
  INVALID_ARGUMENT: invalid<{ violations: readonly Violation[] }>(({ violations }) =>
    violations.map(({ name, description }) => `${name}: ${description}`).join('; '),
  ),
  UNSUPPORTED_CONTENT_TYPE: invalid<{ contentType: string }>(({ contentType }) => {
    const said = contentType === '' ? 'nothing' : `"${short(contentType)}"`;
    return `a request with a body must say "Content-Type: application/json"; this one says ${said}`;
  }),
  UNSUPPORTED_CONTENT_ENCODING: {
    ...row<{ coding: string }>(
      415,
      Status.INVALID_ARGUMENT,
      ({ coding }) => `a body with a content coding ("${short(coding)}") is not read: send it as it is`,
    ),
    headers: { 'accept-encoding': 'identity' }, // by this, clients that compress by default do so (RFC 9110, 15.5.16)
  },
  API_KEY_MISSING: unauthenticated('', () => 'an API key is needed: send "Authorization: Bearer <API_KEY>"'),
  API_KEY_INVALID: unauthenticated<{ isSuspended: boolean }>(
    ', error="invalid_token"',
    ({ isSuspended }) =>
      `the API key is not valid: ${isSuspended ? 'its account is suspended' : 'it is unknown, revoked or expired'}`,
  ),
  // The only permission that lacks something is `read`.
  PERMISSION_DENIED: row(
    403,
    Status.PERMISSION_DENIED,
    () => 'the API key has the permission "read", and this request takes "write": send it with a key that has it',
  ),
  ROUTE_NOT_FOUND: row<{ method: string; path: string }>(
    404,
    Status.UNIMPLEMENTED,
    ({ method, path }) => `nothing answers to ${short(method)} ${short(path)}`,
  ),
  METHOD_NOT_ALLOWED: row<{ method: string; path: string; allow: string }>(
    405,
    Status.UNIMPLEMENTED,
    ({ method, path, allow }) => `${short(path)} does not answer to ${short(method)}; it answers to ${allow}`,
  ),
  PRECONDITION_FAILED: row<{ etag: string }>(
    412,
    Status.ABORTED,
    ({ etag }) =>
      `what is stored has the ETag ${etag} now, which If-Match does not name: read it again before you change it`,
  ),
  EVENTS_EXPIRED: {
    ...row<{ after: bigint; oldest: bigint }>(
      410,
      Status.OUT_OF_RANGE,
      ({ after, oldest }) =>
        `the events after ${after} are not kept any more, the oldest is ${oldest}: read the lists again, then go on`,
    ),
    headers: { 'cache-control': 'no-store' }, // browsers keep a 410 without end, whatever Last-Event-ID comes next
  },
  EVENT_NOT_REACHED: {
    ...invalid<{ after: bigint; newest: bigint }>(
      ({ after, newest }) =>
        `${after} has not been reached, the newest event is ${newest}: the feed is older than what you have, ` +
        'as after a restored backup: read the lists again, then go on',
    ),
    field: { path: 'after', name: 'after' },
  },
  IDEMPOTENCY_KEY_REUSED: row(
    409,
    Status.ALREADY_EXISTS,
    () => 'Idempotency-Key: another request has been carried out under this key: send each new request with a new key',
  ),
  REQUEST_TIMEOUT: row(
    408,
    Status.DEADLINE_EXCEEDED,
    () => `the request had not arrived whole ${BODY_TIMEOUT_MS / 1_000} seconds after its headers`,
  ),
  BODY_TOO_LARGE: exhausted(413, () => `the request body is larger than ${MAX_BODY_BYTES / 1_024} KiB`),
  RATE_LIMITED: exhausted<{ limit: number; window: string; retryAfterSeconds: number }>(
    429,
    ({ limit, window, retryAfterSeconds }) =>
      `the limit of ${limit} ${window === AT_A_TIME ? window : `per ${window}`} is used up: ` +
      `try again in ${retryAfterSeconds} s`,
  ),
  API_KEY_BANNED: exhausted<{ retryAfterSeconds: number }>(
    429,
    ({ retryAfterSeconds }) =>
      'the API key is banned for sending on after refusals: ' +
      `try again in ${retryAfterSeconds} s, and back off after a 429`,
  ),
  TOO_MANY_STREAMS: {
    ...exhausted<{ streams: number }>(
      429,
      ({ streams }) => `the account follows the events on ${streams} streams already: end one first`,
    ),
    retryAfterSeconds: 10,
  },
  OPERATOR_KEY_INVALID: unauthenticated(
    '',
    () => 'an operator key is needed: send "Authorization: Bearer <OPERATOR_KEY>"',
  ),
  ACCOUNT_NOT_FOUND: notFound('account', 'accountId'),
  API_KEY_NOT_FOUND: notFound('API key', 'keyId'),
  API_KEY_ENDED: row<{ keyId: bigint }>(
    409,
    Status.FAILED_PRECONDITION,
    ({ keyId }) => `API key ${keyId} is revoked or expired: create a new one`,
  ),
  BAN_NOT_ENDED: unavailable(
    () => "Redis is away, so other servers can't be told that the ban is over: try again when it is back",
  ),
  INTERNAL: row<{ requestId: string }>(
    500,
    Status.INTERNAL,
    ({ requestId }) => `something went wrong on our side; request id ${short(requestId)}`,
  ),
  UNAVAILABLE: unavailable(() => 'the service is not available just now; try again shortly'),
  DEADLINE_EXCEEDED: row(504, Status.DEADLINE_EXCEEDED, () => 'the request was not answered in time'),
} as const satisfies Record<string, Row>;

type ErrorFields<R extends Row> = Parameters<R['message']>[0];

/** A rule that a field violates. */
export interface Violation {
  /** The path in the request message, for `google.rpc.BadRequest`, with protobuf's names: `thing.color_id`. */
  readonly path: string;
  /** The name in the error message, which REST and gRPC share: `colorId`. */
  readonly name: string;
  /** What is wrong: `must be 1 to 200 characters after trimming`. */
  readonly description: string;
}

/** An error for the caller. Every other error becomes INTERNAL. */
export class ApiError extends Error {
  readonly code: string;
  readonly grpcStatus: Status;
  readonly httpStatus: number;
  /** Response headers, or metadata in gRPC. */
  readonly headers: Readonly<Record<string, string>>;
  readonly violations: readonly Violation[];
  /** When a retry makes sense, in whole seconds; undefined when it does not. */
  readonly retryAfterSeconds: number | undefined;
  /** The subject whose quota is used up: `account:7`. */
  readonly quotaSubject: string | undefined;

  constructor(code: string, row: Row, said: string, options: ApiErrorOptions) {
    const { field } = row;
    super(short(field === undefined ? said : `${field.name}: ${said}`, MAX_TEXT), { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.grpcStatus = options.grpcStatus ?? row.grpc;
    this.httpStatus = options.httpStatus ?? row.http;
    this.headers = { ...row.headers, ...options.headers };
    this.violations =
      options.violations ?? (field === undefined ? [] : [{ ...field, description: short(said, MAX_DESCRIPTION) }]);
    this.retryAfterSeconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.quotaSubject = options.quotaSubject;
  }
}

/** What the table does not say, or says otherwise where gRPC or Connect requires it. `cause` is logged, never sent. */
export type ApiErrorOptions = Partial<Omit<ApiError, keyof Error | 'code'>> & { readonly cause?: unknown };

/** Returns the function that creates the errors of a table. `fields` are those that the message needs. */
export function errorsOf<const T extends { readonly [Code in keyof T]: Row }>(table: T) {
  return <C extends keyof T & string>(
    code: C,
    ...[fields, options = {}]: ErrorFields<T[C]> extends undefined
      ? [fields?: undefined, options?: ApiErrorOptions]
      : [fields: ErrorFields<T[C]>, options?: ApiErrorOptions]
  ): ApiError => {
    const row: Row = table[code];
    return new ApiError(code, row, row.message(fields), options);
  };
}

export const apiError = errorsOf(PLATFORM_ERRORS);

/** An error of the platform with another message. */
export function errorSaying(code: keyof typeof PLATFORM_ERRORS, message: string, options: ApiErrorOptions = {}) {
  return new ApiError(code, PLATFORM_ERRORS[code], message, options);
}

/** A METHOD_NOT_ALLOWED. `allow` has the methods that are. */
export function notAllowed(sent: { method: string; path: string }, allow: string, options?: ApiErrorOptions) {
  return apiError('METHOD_NOT_ALLOWED', { ...sent, allow }, { ...options, headers: { allow } });
}

/** Returns what was looked for. @throws the error when there is none. */
export function existing<T>(found: T | undefined, missing: () => ApiError): T {
  if (found === undefined) throw missing();
  return found;
}

/** A RATE_LIMITED for `limit` per `window`, or at a time, of the subject `account:7` or `address:192.0.2.1`. */
export function tooMany(limit: number, window: string, quotaSubject: string): ApiError {
  const retryAfterSeconds = 1;
  return apiError('RATE_LIMITED', { limit, window, retryAfterSeconds }, { retryAfterSeconds, quotaSubject });
}

/** A RATE_LIMITED beyond an allowance (access/limits/allowance.ts). Whoever sends it adds X-RateLimit-Reset. */
export function tooFast(burst: number, perSecond: number, quotaSubject?: string): ApiError {
  const retryAfterSeconds = 1;
  const headers = {
    'x-ratelimit-limit': String(burst),
    'x-ratelimit-remaining': '0',
    'ratelimit-policy': `"burst";q=${burst};w=${Math.ceil(burst / perSecond)}`,
    ratelimit: '"burst";r=0;t=1',
  };
  const values = { limit: perSecond, window: 'second', retryAfterSeconds };
  return apiError('RATE_LIMITED', values, { retryAfterSeconds, headers, quotaSubject });
}

/** An INVALID_ARGUMENT that names the fields with a violation, as many as fit. A list can have thousands. */
export function invalidArgument(untruncated: Iterable<Violation>): ApiError {
  const violations: Violation[] = [];
  let bytes = 0;
  for (const whole of untruncated) {
    const violation = {
      path: short(whole.path, MAX_NAME),
      name: short(whole.name, MAX_NAME),
      description: short(whole.description, MAX_DESCRIPTION),
    };
    bytes += bytesOf(Object.values(violation).join());
    if (bytes > MAX_TEXT) break;
    violations.push(violation);
  }
  return apiError('INVALID_ARGUMENT', { violations }, { violations });
}
