/** The error responses of the document, made of the very errors that the server answers with: src/errors.ts. */
import { STATUS_CODES } from 'node:http';
import { type ApiError, apiError, type ErrorCode, isErrorCode } from '../errors.ts';
import { ETAG } from './examples.ts';
import { headers, headersIfKnown } from './headers.ts';
import type { JsonObject } from './json.ts';
import type { Schemas } from './schemas.ts';

/** What any request may be told, whatever it asks for. Each status has one response that all operations refer to. */
const COMMON: readonly ErrorCode[] = [
  'API_KEY_MISSING',
  'API_KEY_INVALID',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'BODY_TOO_LARGE',
  'RATE_LIMITED',
  'API_KEY_BANNED',
  'INTERNAL',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
];

/** A bad query, or a body that can't be read: even where none is asked for, what is sent must be JSON. */
const OF_ANY_OPERATION: readonly ErrorCode[] = ['INVALID_ARGUMENT', 'UNSUPPORTED_CONTENT_TYPE', 'MALFORMED_BODY'];

/** What no operation answers, because no operation was asked for. */
const OF_NO_OPERATION: readonly ErrorCode[] = ['ROUTE_NOT_FOUND'];

/** Not `Error`, which is something else in most languages. */
const ERROR = 'ErrorBody';

/** For each code's message the fields that it names: what the examples of the document say. */
const SAMPLE = {
  allow: 'GET, HEAD, POST',
  categoryId: 1n,
  contentType: 'text/plain',
  etag: ETAG,
  detail: 'Closing quote expected in string.',
  inStock: 3,
  isSuspended: false,
  limit: 1_000,
  method: 'PUT',
  orderId: 1n,
  path: '/pets',
  petId: 1n,
  requestId: '7b0bfa0a-4c5e-4b5e-9d5c-0f6f2f3c8a11',
  retryAfterSeconds: 30,
  violations: [{ path: 'pet.name', name: 'name', description: 'must be 1 to 200 characters after trimming' }],
  wanted: 5,
  window: 'minute',
};

/** The same for a request without a body: what is wrong is in its query. */
const SAMPLE_OF_QUERY = {
  ...SAMPLE,
  violations: [{ path: 'colour', name: 'colour', description: 'is not a query parameter here' }],
};

/** An error as a caller may get it. */
function sample(code: ErrorCode, fields: typeof SAMPLE = SAMPLE): ApiError {
  // The fields of all codes at once: each message takes its own from them, which the type of `apiError` can't know.
  return (apiError as (code: ErrorCode, fields: typeof SAMPLE) => ApiError)(code, fields);
}

/** Writes the error responses of a document and remembers which codes it has named. */
export class ErrorResponses {
  /** The responses that all operations share, under `components`. */
  readonly components: JsonObject;
  /** References to them, by HTTP status. */
  readonly common: JsonObject;
  readonly #schemas: Schemas;
  readonly #named = new Set<ErrorCode>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
    const shared = Object.entries(this.#responses(COMMON));
    this.components = Object.fromEntries(shared.map(([status, response]) => [componentName(status), response]));
    const refs = shared.map(([status]) => [status, { $ref: `#/components/responses/${componentName(status)}` }]);
    this.common = Object.fromEntries(refs);
  }

  /** The responses that belong to one operation, by HTTP status. `ownErrors` are the codes that its proto file names. */
  ofOperation({ hasBody, ownErrors }: { hasBody: boolean; ownErrors: readonly string[] }): Record<string, JsonObject> {
    const codes = [...OF_ANY_OPERATION, ...ownErrors.map(toCode)];
    return this.#responses(codes, hasBody ? SAMPLE : SAMPLE_OF_QUERY);
  }

  /** Every code that a caller can meet, as a Markdown table in the order of their status. */
  table(): string {
    const errors = [...this.#named, ...OF_NO_OPERATION].map((code) => sample(code));
    errors.sort((a, b) => a.httpStatus - b.httpStatus);
    const rows = errors.map(({ code, httpStatus, message }) => `| ${httpStatus} | \`${code}\` | ${message} |`);
    return ['| Status | Code | For example |', '|---|---|---|', ...rows].join('\n');
  }

  #responses(codes: readonly ErrorCode[], fields = SAMPLE): Record<string, JsonObject> {
    for (const code of codes) this.#named.add(code);
    const errors = codes.map((code) => sample(code, fields));
    const byStatus = Map.groupBy(errors, ({ httpStatus }) => httpStatus);
    return Object.fromEntries([...byStatus].map(([status, same]) => [status, response(status, same, this.#schemas)]));
  }
}

/** A name in a proto file that is no code stops the generation. */
function toCode(name: string): ErrorCode {
  if (!isErrorCode(name)) throw new Error(`${name} in the proto files is no error code`);
  return name;
}

/** `PayloadTooLarge` for 413. */
function componentName(status: string): string {
  return (STATUS_CODES[status] ?? status).replaceAll(' ', '');
}

/**
 * The schema is the same for all, and has a name: generators would make up one for each that says a little more. Which
 * codes there are stands in the description and the examples alone, because callers must live with further ones.
 */
function response(status: number, errors: readonly ApiError[], schemas: Schemas): JsonObject {
  return {
    description: [`${STATUS_CODES[status]}.`, ...errors.map(({ code, message }) => `- \`${code}\`: ${message}`)].join(
      '\n',
    ),
    headers: responseHeaders(status),
    content: {
      'application/json': {
        schema: schemas.add(ERROR, errorSchema),
        examples: Object.fromEntries(errors.map(({ code, message }) => [code, { value: { code, message, status } }])),
      },
    },
  };
}

function responseHeaders(status: number): JsonObject {
  switch (status) {
    case 401:
      return headers('WWW-Authenticate');
    case 405:
      return headers('Allow');
    case 429:
      return headers('Retry-After');
    case 503:
      return headersIfKnown('Retry-After');
    case 504:
      return headersIfKnown();
    default:
      return headers();
  }
}

function errorSchema(): JsonObject {
  return {
    type: 'object',
    description: 'What every answer of 400 and above says, whoever makes it.',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        description: "Machine-readable error code. There may be new ones: treat one that you don't know by its status.",
        examples: ['PET_NOT_FOUND'],
      },
      message: { type: 'string', description: 'Human-readable description.', examples: ['pet 1 does not exist'] },
      status: {
        type: 'integer',
        description: 'The HTTP status code.',
        minimum: 400,
        maximum: 599,
        examples: [404],
      },
    },
  };
}
