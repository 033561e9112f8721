/** What a caller sends: parameters and bodies. */
import type { DescField, DescMessage, Registry } from '@bufbuild/protobuf';
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
