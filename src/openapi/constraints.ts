/**
 * Translates the `buf.validate` rules of a field into JSON Schema. An unsupported rule stops the generation: a document
 * that silently omits a rule would be wrong about what the server accepts.
 */
import { type DescField, getOption, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldRules,
  Int32RulesSchema,
  Int64RulesSchema,
  RepeatedRulesSchema,
  type Rule,
  StringRulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import type { JsonObject } from './json.ts';

/** The characters that CEL's `trim` removes (Unicode's White_Space), except control characters. */
const BLANK = ' \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
/** The control characters, as CEL (RE2) and JSON Schema (ECMA-262) write them. In CEL each `\` is doubled. */
const NO_CONTROL = String.raw`!this.matches('[\\x00-\\x1f\\x7f-\\x{9f}]')`;
const CONTROL = String.raw`\u0000-\u001f\u007f-\u009f`;

export function rulesOf(field: DescField): FieldRules {
  return getOption(field, fieldRules);
}

/** Returns the JSON Schema keywords for the rules of `field`. Throws when a rule has no translation. */
export function toKeywords(field: DescField): JsonObject {
  return keywordsOf(field, rulesOf(field), ['required', 'cel']);
}

function keywordsOf(field: DescField, rules: FieldRules, known: readonly string[]): JsonObject {
  checkKnown(field, FieldRulesSchema, rules, [...known, rules.type.case ?? '']);
  return { ...typeKeywords(field, rules), ...trimmedText(field, rules.cel) };
}

function typeKeywords(field: DescField, { type }: FieldRules): JsonObject {
  switch (type.case) {
    case undefined:
    case 'bool': // at most an example
    case 'enum': // the schema of the enum lists its values
    case 'timestamp': // limited to the years that RFC 3339 can represent
      return {};
    case 'int32': {
      checkKnown(field, Int32RulesSchema, type.value, ['gte', 'lte', 'example']);
      const { greaterThan, lessThan } = type.value;
      return { minimum: greaterThan.value, maximum: lessThan.value };
    }
    case 'int64': {
      checkKnown(field, Int64RulesSchema, type.value, ['gte', 'example']);
      const { value } = type.value.greaterThan;
      return value === undefined ? {} : { minimum: Number(value) };
    }
    case 'string': {
      checkKnown(field, StringRulesSchema, type.value, ['len', 'min_len', 'max_len', 'pattern', 'in', 'example']);
      const { len, minLen, maxLen, pattern, in: values } = type.value;
      return {
        ...bounds('Length', len || minLen, len || maxLen),
        ...(pattern === '' ? {} : { pattern: new RegExp(pattern, 'u').source }), // no other dialect than JavaScript's
        ...(values.length === 0 ? {} : { enum: values }),
      };
    }
    case 'repeated': {
      checkKnown(field, RepeatedRulesSchema, type.value, ['min_items', 'max_items', 'unique', 'items']);
      const { minItems, maxItems, unique, items } = type.value;
      return {
        ...bounds('Items', minItems, maxItems),
        ...(unique ? { uniqueItems: true } : {}),
        ...(items === undefined ? {} : { items: keywordsOf(field, items, ['cel']) }),
      };
    }
    default:
      throw new Error(`${field.toString()}: the document does not support rules of the kind ${type.case}`);
  }
}

function bounds(of: 'Length' | 'Items', min: bigint, max: bigint): JsonObject {
  return {
    ...(min === 0n ? {} : { [`min${of}`]: Number(min) }),
    ...(max === 0n ? {} : { [`max${of}`]: Number(max) }),
  };
}

function checkKnown(
  field: DescField,
  schema: Parameters<typeof reflect>[0],
  rules: Message,
  known: readonly string[],
): void {
  const view = reflect(schema, rules);
  for (const rule of view.fields) {
    const isKnown = known.some((name) => name === rule.name || name === rule.localName);
    if (view.isSet(rule) && !isKnown) {
      throw new Error(`${field.toString()}: the document does not support the rule ${rule.name}`);
    }
  }
}

/**
 * The pattern of a text without control characters whose length counts after trimming. `maxLength` would be too strict:
 * the server accepts blanks around the text and trims them.
 */
function trimmedText(field: DescField, cel: readonly Rule[]): JsonObject {
  if (cel.length === 0) return {};
  const [length, forbidden] = cel;
  const [, max] = /^this\.trim\(\)\.size\(\) >= 1 && .* <= (\d+)$/.exec(length?.expression ?? '') ?? [];
  if (cel.length !== 2 || max === undefined || forbidden?.expression !== NO_CONTROL) {
    throw new Error(`${field.toString()}: the document does not support its CEL rules`);
  }
  const edge = `[^${CONTROL}${BLANK}]`;
  return { minLength: 1, pattern: `^[${BLANK}]*${edge}([^${CONTROL}]{0,${Number(max) - 2}}${edge})?[${BLANK}]*$` };
}
