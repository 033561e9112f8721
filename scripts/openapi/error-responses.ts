/** The error responses of the document, from the server's own tables of errors (error-table.ts). */
import { STATUS_CODES } from 'node:http';
import { status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../../src/platform/errors.ts';
import { SHOP_ERRORS, SHOP_SAMPLES } from '../../src/shop/errors.ts';
import { anyError, type ErrorCode, isErrorCode } from './error-table.ts';
import { FIRST_ID } from './examples.ts';
import type { JsonObject } from './json.ts';
import { headers, headersIfKnown } from './parts.ts';

/** The errors of any request. The document has one response per status, to which all operations refer. */
const COMMON = [
  ...['API_KEY_MISSING', 'API_KEY_INVALID', 'METHOD_NOT_ALLOWED', 'REQUEST_TIMEOUT', 'BODY_TOO_LARGE'],
  ...['UNSUPPORTED_CONTENT_ENCODING', 'RATE_LIMITED', 'API_KEY_BANNED', 'INTERNAL', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'],
];

/** The errors of any operation that changes something. */
export const OF_WRITES = ['PERMISSION_DENIED'];

/** The errors of any operation: a bad query, or a body that is not JSON, even where no body is expected. */
const OF_ANY_OPERATION = ['INVALID_ARGUMENT', 'UNSUPPORTED_CONTENT_TYPE', 'MALFORMED_BODY'];

/** The errors of a request that matches no operation. */
const OF_NO_OPERATION = ['ROUTE_NOT_FOUND'];

/** The fields that the messages of the platform's codes take, but for ids, with values for the examples. */
const SAMPLE = {
  after: 7n,
  allow: 'GET, HEAD, POST',
  coding: 'gzip',
  contentType: 'text/plain',
  etag: '"4lopUGI33HG_w_A_43xix1"',
  detail: 'it is not JSON at byte 17',
  isSuspended: false,
  limit: 1_000,
  method: 'PUT',
  newest: 3n,
  oldest: 1_000n,
  path: '{{path}}',
  requestId: '7b0bfa0a-4c5e-4b5e-9d5c-0f6f2f3c8a11',
  retryAfterSeconds: 30,
  streams: 10, // the default of EVENT_STREAMS, as the page on following changes has it
  violations: [{ path: 'colour', name: 'colour', description: 'is not a query parameter here' }],
  window: 'minute',
};

/** Each id that is not among the fields is the first one, as in all examples. */
const WITH_IDS = {
  get: (fields: object, name: string) => Reflect.get(fields, name) ?? (name.endsWith('Id') ? FIRST_ID : undefined),
};

/** Throws when a name, which may be of a proto file, is no error code. */
function sample(code: string, fields: object = SAMPLE): ApiError {
  if (!isErrorCode(code)) throw new Error(`${code} is no error code: src/shop/errors.ts needs a row for it`);
  const all = Object.hasOwn(SHOP_ERRORS, code) ? { ...fields, ...SHOP_SAMPLES } : fields;
  try {
    // Each message takes its own fields from those of all codes, which the type of `anyError` can't express.
    const error = (anyError as (code: ErrorCode, fields: object) => ApiError)(code, new Proxy(all, WITH_IDS));
    if (!error.message.includes('undefined')) return error;
    throw new Error(error.message);
  } catch (cause) {
    const field = 'the field that the message needs, which may be an id that is a text';
    throw new Error(`${code}: give SHOP_SAMPLES in src/shop/errors.ts ${field}: "${(cause as Error).message}"`);
  }
}

/** Builds the error responses of a document and collects the codes that they name. */
export class ErrorResponses {
  /** The responses that all operations share, under `components`. */
  readonly components: JsonObject;
  /** References to them, by HTTP status. */
  readonly common: JsonObject;
  /** References for all operations that change something. */
  readonly ofWrites: JsonObject;
  readonly #named = new Set<string>();

  constructor() {
    const nameOf = (status: string) => (STATUS_CODES[status] ?? status).replaceAll(' ', '');
    const refsTo = (responses: JsonObject): JsonObject =>
      Object.fromEntries(
        Object.keys(responses).map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]),
      );
    const [common, ofWrites] = [this.#responses(COMMON), this.#responses(OF_WRITES)];
    const shared = Object.entries({ ...common, ...ofWrites });
    this.components = Object.fromEntries(shared.map(([status, response]) => [nameOf(status), response]));
    [this.common, this.ofWrites] = [refsTo(common), refsTo(ofWrites)];
  }

  /**
   * The responses of one operation, by HTTP status. `ownErrors` are the codes that its proto file names, `required` the
   * fields that its body must have: the example of INVALID_ARGUMENT is of a body without them.
   */
  ofOperation(ownErrors: readonly string[], required: readonly string[]): Record<string, JsonObject> {
    const violations = required.map((name) => ({ path: name, name, description: 'value is required' }));
    // An own code with a status that all operations share: the response has all of these codes.
    const own = new Set(ownErrors.map((code) => sample(code).httpStatus));
    const sharing = COMMON.filter((code) => own.has(sample(code).httpStatus));
    const fields = violations.length > 0 ? { ...SAMPLE, violations } : SAMPLE;
    return this.#responses([...OF_ANY_OPERATION, ...sharing, ...ownErrors], fields);
  }

  /** A Markdown table of all codes, ordered by status. */
  table(): string {
    const errors = [...this.#named, ...OF_NO_OPERATION].map((code) => sample(code));
    errors.sort((a, b) => a.httpStatus - b.httpStatus);
    const rows = errors.map(({ code, httpStatus, grpcStatus, message }) => {
      return `| ${httpStatus} | \`${code}\` | ${Status[grpcStatus]} | ${message} |`;
    });
    return ['| Status | Code | On gRPC | For example |', '|---|---|---|---|', ...rows].join('\n');
  }

  #responses(codes: readonly string[], fields: object = SAMPLE): Record<string, JsonObject> {
    for (const code of codes) this.#named.add(code);
    const errors = codes.map((code) => sample(code, fields));
    const byStatus = Map.groupBy(errors, ({ httpStatus }) => httpStatus);
    return Object.fromEntries([...byStatus].map(([status, same]) => [status, response(status, same)]));
  }
}

/** The errors of every method of gRPC. */
export const EVERYWHERE = COMMON.filter((code) => code !== 'METHOD_NOT_ALLOWED').concat('INVALID_ARGUMENT');

/** Codes as gRPC has them: each with its status. */
export function onGrpc(codes: readonly string[]): string {
  return codes.map((code) => `${code} (${Status[sample(code).grpcStatus]})`).join(', ');
}

/** Headers that all responses with a status have. */
const HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

function response(status: number, errors: readonly ApiError[]): JsonObject {
  const lines = errors.map(({ code, message }) => `- \`${code}\`: ${message}`);
  const examples = errors.map(({ code, message }) => [code, { value: { code, message, status } }]);
  return {
    description: [`${STATUS_CODES[status]}.`, ...lines].join('\n'),
    headers: (status >= 503 ? headersIfKnown : headers)(...(HEADERS[status] ?? [])),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ErrorBody' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}
