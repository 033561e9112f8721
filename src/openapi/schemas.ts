/** The schemas of the document: proto messages and enums as JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { type DescEnum, type DescField, type DescMessage, type Registry, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { fieldOptions } from '../proto/options.ts';
import { commentOf } from './comments.ts';
import { rulesOf, toKeywords } from './constraints.ts';
import { exampleOf } from './examples.ts';
import type { JsonObject } from './json.ts';

const TIMESTAMP = 'google.protobuf.Timestamp';

/** Collects the named schemas that the document refers to. */
export class Schemas {
  readonly #registry: Registry;
  readonly #components = new Map<string, JsonObject>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** All schemas that were referred to, sorted by name. */
  get components(): JsonObject {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds a schema, unless the name is there already, and returns a reference to it. */
  add(name: string, schema: () => JsonObject): JsonObject {
    if (!this.#components.has(name)) {
      this.#components.set(name, {}); // before `schema()`, which may refer to itself
      this.#components.set(name, schema());
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  message(message: DescMessage): JsonObject {
    return this.add(message.name, () => {
      const required = message.fields.filter(isRequired).map(({ jsonName }) => jsonName);
      return {
        type: 'object',
        description: commentOf(message),
        required: required.length > 0 ? required : undefined,
        properties: Object.fromEntries(message.fields.map((field) => [field.jsonName, this.field(field)])),
      };
    });
  }

  hasRequired(message: DescMessage): boolean {
    return message.fields.some(isRequired);
  }

  /** A list response as REST has it: a bare array under the name of the list. */
  list(name: string, items: DescMessage, description: string): JsonObject {
    return this.add(name, () => ({ type: 'array', description, items: this.message(items) }));
  }

  /** The schema of a field, with its description, bounds and default. */
  field(field: DescField): JsonObject {
    const options = fieldOptions(field, this.#registry);
    const example = exampleOf(field);
    return {
      ...this.#value(field),
      ...toKeywords(field),
      description: commentOf(field),
      default: options?.default ? JSON.parse(options.default) : undefined,
      readOnly: options?.outputOnly || undefined,
      examples: example === undefined ? undefined : [example],
    };
  }

  #value(field: DescField): JsonObject {
    switch (field.fieldKind) {
      case 'list':
        return { type: 'array', items: this.#item(field) };
      case 'enum':
        return this.#enum(field.enum);
      case 'message':
        return this.#messageValue(field.message);
      case 'scalar':
        return scalar(field.scalar);
      default:
        throw new Error(`${field.toString()}: the document does not support a ${field.fieldKind} field`);
    }
  }

  #item(field: DescField & { fieldKind: 'list' }): JsonObject {
    switch (field.listKind) {
      case 'enum':
        return this.#enum(field.enum);
      case 'message':
        return this.#messageValue(field.message);
      default:
        return scalar(field.scalar);
    }
  }

  #messageValue(message: DescMessage): JsonObject {
    return message.typeName === TIMESTAMP ? { type: 'string', format: 'date-time' } : this.message(message);
  }

  /** The zero value is never accepted and never sent. */
  #enum(desc: DescEnum): JsonObject {
    const values = desc.values.filter(({ number }) => number !== 0);
    return this.add(desc.name, () => ({
      type: 'string',
      description: [commentOf(desc), ...values.map((value) => `- \`${value.name}\`: ${commentOf(value)}`)].join('\n'),
      enum: values.map(({ name }) => name),
    }));
  }
}

/** A field without presence is always in a response; in a request the `required` rule decides. */
function isRequired(field: DescField): boolean {
  return rulesOf(field).required || field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

function scalar(type: ScalarType): JsonObject {
  switch (type) {
    case ScalarType.INT64:
      return { type: 'integer', format: 'int64' };
    case ScalarType.INT32:
      return { type: 'integer', format: 'int32' };
    case ScalarType.STRING:
      return { type: 'string' };
    case ScalarType.BOOL:
      return { type: 'boolean' };
    default:
      throw new Error(`the document does not support the scalar type ${ScalarType[type]}`);
  }
}
