/** The schemas of the document: proto messages and enums as JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
import { type DescEnum, type DescField, type DescMessage, type Registry, ScalarType } from '@bufbuild/protobuf';
import { TIMESTAMP, wrappedList } from '../../src/platform/proto/fields.ts';
import { fieldOptions } from '../../src/platform/proto/options.ts';
import { rulesOf, toKeywords } from './constraints.ts';
import { exampleOf } from './examples.ts';
import type { JsonObject } from './json.ts';
import { BASE, commentOf } from './parts.ts';

/** Collects the named schemas that the document refers to. */
export class Schemas {
  readonly #registry: Registry;
  readonly #components = new Map(Object.entries(BASE.components.schemas));
  /** What each is the schema of. */
  readonly #types = new Map<string, string>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** All schemas that were referred to, and that of errors, sorted by name. */
  get components(): JsonObject {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Adds the schema of a type, unless it is there already, and returns a reference to it. */
  add(name: string, type: string, schema: () => JsonObject): JsonObject {
    if (!this.#components.has(name)) {
      this.#types.set(name, type);
      this.#components.set(name, schema());
    }
    if (this.#types.get(name) !== type)
      throw new Error(`${type}: the document has another schema of the name ${name}: rename one`);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of a message; of a request without what is in its path. */
  message(message: DescMessage, fields: readonly DescField[] = message.fields): JsonObject {
    return this.add(message.name, message.typeName, () => {
      const required = fields.filter(isRequired).map(({ jsonName }) => jsonName);
      return {
        type: 'object',
        description: commentOf(message),
        required: required.length > 0 ? required : undefined,
        properties: Object.fromEntries(fields.map((field) => [field.jsonName, this.field(field)])),
      };
    });
  }

  /** A list response as REST has it: a bare array under the name of the list. */
  list(name: string, items: DescMessage, description: string): JsonObject {
    const type = `a list of ${items.typeName}`;
    return this.add(name, type, () => ({ type: 'array', description, items: this.message(items) }));
  }

  /** The schema of a field, with its description, bounds and default. */
  field(field: DescField): JsonObject {
    const list = wrappedList(field);
    if (list !== undefined) return { ...this.field(list), description: commentOf(field) };
    const options = fieldOptions(field, this.#registry);
    const example = exampleOf(field);
    const { items, ...keywords } = toKeywords(field);
    const item = this.#item(field);
    return {
      ...(field.fieldKind === 'list' ? { type: 'array', items: { ...item, ...(items as JsonObject) } } : item),
      ...keywords,
      description: commentOf(field),
      default: options?.default ? JSON.parse(options.default) : undefined,
      readOnly: options?.outputOnly || undefined,
      examples: example === undefined ? undefined : [example],
    };
  }

  /** The schema of a value, or of an item of a list. */
  #item(field: DescField): JsonObject {
    if (field.fieldKind === 'map') throw new Error(`${field.toString()}: the document does not support a map`);
    if (field.enum !== undefined) return this.#enum(field.enum);
    if (field.message === undefined) return scalar(field);
    const isTime = field.message.typeName === TIMESTAMP;
    return isTime ? { type: 'string', format: 'date-time' } : this.message(field.message);
  }

  /** The zero value is never accepted and never sent. */
  #enum(desc: DescEnum): JsonObject {
    const values = desc.values.filter(({ number }) => number !== 0);
    return this.add(desc.name, desc.typeName, () => ({
      type: 'string',
      description: [commentOf(desc), ...values.map((value) => `- \`${value.name}\`: ${commentOf(value)}`)].join('\n'),
      enum: values.map(({ name }) => name),
    }));
  }
}

/** What may be absent is `optional`, a list, which is absent when it is empty, or one of several. */
export function isRequired(field: DescField): boolean {
  const mayBeAbsent = field.proto.proto3Optional || field.fieldKind === 'list' || field.oneof !== undefined;
  return rulesOf(field).required === true || !mayBeAbsent;
}

const SCALARS: Readonly<Partial<Record<ScalarType, JsonObject>>> = {
  [ScalarType.INT64]: { type: 'integer', format: 'int64' },
  [ScalarType.INT32]: { type: 'integer', format: 'int32' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BOOL]: { type: 'boolean' },
};

function scalar(field: DescField): JsonObject {
  const type = field.scalar ?? ScalarType.BYTES;
  const schema = SCALARS[type];
  if (schema === undefined) throw new Error(`${field}: the document does not support the type ${ScalarType[type]}`);
  return schema;
}
