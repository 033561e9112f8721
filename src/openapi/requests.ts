/** Parameters and request bodies. */
import type { DescField, DescMessage, Registry } from '@bufbuild/protobuf';
import { IDEMPOTENCY_KEY } from '../config/constants.ts';
import type { Operation } from '../proto/operations.ts';
import { fieldOptions } from '../proto/options.ts';
import { commentOf } from './comments.ts';
import { ETAG, exampleOf, exampleOfMessage } from './examples.ts';
import type { JsonObject } from './json.ts';
import type { Schemas } from './schemas.ts';

export function pathParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, examples, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'path', required: true, description, schema, example: exampleOf(field) };
}

/**
 * The example of a query parameter or header is in the `examples` of its schema, not in `example`: request generators
 * find it there, but forms such as the docs page's, which start with `example`, stay empty. Otherwise every list that
 * somebody tries would be filtered, and every request would have the same idempotency key.
 */
export function queryParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'query', description, schema };
}

/** `*` or a list of entity tags. */
const ENTITY_TAGS = { type: 'string', pattern: '^(\\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$' };

const CONDITIONS = {
  'if-match': {
    name: 'If-Match',
    in: 'header',
    description: 'One or more `ETag`s. The response is a 412 unless the resource still has one of them.',
    schema: { ...ENTITY_TAGS, examples: ['*', ETAG] }, // `*` first: it always matches
  },
  'if-none-match': {
    name: 'If-None-Match',
    in: 'header',
    description: 'One or more `ETag`s. The response is a 304 while the resource has one of them.',
    schema: { ...ENTITY_TAGS, examples: [ETAG] },
  },
} as const satisfies Record<NonNullable<Operation['condition']>, JsonObject>;

const IDEMPOTENCY_KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered ' +
    'alike each time. A new UUID for each new request is a good key.',
  schema: {
    type: 'string',
    pattern: IDEMPOTENCY_KEY.source,
    examples: ['7f1d2c3a-6d1c-4a53-9d0e-5a1c0c1e7a42'],
  },
};

export const parameterComponents: JsonObject = Object.fromEntries(
  [...Object.values(CONDITIONS), IDEMPOTENCY_KEY_PARAMETER].map((parameter) => [parameter.name, parameter]),
);

/** A reference to the header of a conditional request. */
export function conditionParameter(condition: keyof typeof CONDITIONS): JsonObject {
  return { $ref: `#/components/parameters/${CONDITIONS[condition].name}` };
}

/** A reference to the header `Idempotency-Key`. */
export function idempotencyKeyParameter(): JsonObject {
  return { $ref: `#/components/parameters/${IDEMPOTENCY_KEY_PARAMETER.name}` };
}

/** The body is optional when none of its fields is required. */
export function requestBody(body: DescMessage, schemas: Schemas, registry: Registry): JsonObject {
  return {
    description: commentOf(body),
    required: schemas.hasRequired(body),
    content: {
      'application/json': { schema: schemas.message(body), example: requestExample(body, registry) },
    },
  };
}

export function requestExample(body: DescMessage, registry: Registry): JsonObject {
  return exampleOfMessage(body, (field) => fieldOptions(field, registry)?.outputOnly !== true);
}
