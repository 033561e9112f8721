/** What a caller sends: parameters and bodies. */
import type { DescField, DescMessage, Registry } from '@bufbuild/protobuf';
import { IDEMPOTENCY_KEY } from '../bounds.ts';
import type { Operation } from '../operations.ts';
import { fieldOptions } from '../proto-options.ts';
import { commentOf } from './comments.ts';
import { exampleOf, exampleOfMessage } from './examples.ts';
import type { JsonObject } from './json.ts';
import type { Schemas } from './schemas.ts';

export function pathParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, examples, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'path', required: true, description, schema, example: exampleOf(field) };
}

/** Without an example: forms that start with one would narrow every list that somebody tries. */
export function queryParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, examples, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'query', description, schema };
}

/** `*` or a list of entity tags, as simply as it can be written. */
const ENTITY_TAGS = { type: 'string', pattern: '^(\\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$' };

const CONDITIONS = {
  'if-match': {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` of what is to be changed, or several. While it has another one, the answer is a 412.',
    schema: ENTITY_TAGS,
  },
  'if-none-match': {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of what the caller has already, or several. While it has one of these, the answer is a 304.',
    schema: ENTITY_TAGS,
  },
} as const satisfies Record<NonNullable<Operation['condition']>, JsonObject>;

/** Without an example: forms that start with one would send every request under the same key. */
const IDEMPOTENCY_KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes it safe to send the request again when no answer came: under one key it is carried out once, and answered ' +
    'alike each time. A new UUID for each new request is a good key.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
};

export const parameterComponents: JsonObject = Object.fromEntries(
  [...Object.values(CONDITIONS), IDEMPOTENCY_KEY_PARAMETER].map((parameter) => [parameter.name, parameter]),
);

/** A reference to the header by which a request is made conditional. */
export function conditionParameter(condition: keyof typeof CONDITIONS): JsonObject {
  return { $ref: `#/components/parameters/${CONDITIONS[condition].name}` };
}

/** A reference to the header by which a request may be sent again. */
export function idempotencyKeyParameter(): JsonObject {
  return { $ref: `#/components/parameters/${IDEMPOTENCY_KEY_PARAMETER.name}` };
}

/** A body may be left out altogether where none of its fields is required. */
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
