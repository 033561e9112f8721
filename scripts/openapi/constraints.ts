/**
 * Translates the `buf.validate` rules of a field into JSON Schema. An unsupported rule stops the generation: a document
 * that silently omits a rule would be wrong about what the server accepts.
 */
import { type DescField, getOption, toJson } from '@bufbuild/protobuf';
import { FieldRulesSchema, field as fieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { allowedNames } from '../../src/platform/proto/fields.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** The rule against control characters. In CEL each `\` is doubled. */
const NO_CONTROL = String.raw`!this.matches('[\\x00-\\x1f\\x7f-\\x{9f}]')`;

/** The rules of a field as JSON, by kind: `{"required": true, "string": {"minLen": "1"}}`. */
export function rulesOf(field: DescField): JsonObject {
  return toJson(FieldRulesSchema, getOption(field, fieldRules)) as JsonObject;
}

/** Returns the JSON Schema keywords for the rules of `field`. Throws when a rule has no translation. */
export function toKeywords(field: DescField): JsonObject {
  return translate(field, rulesOf(field), '');
}

type Translation = (value: never, field: DescField) => JsonObject;

const nothing: Translation = () => ({});

const TRANSLATIONS: Readonly<Record<string, Translation>> = {
  required: nothing, // the schema of the message says so
  cel: trimmedText,
  'enum.definedOnly': nothing, // the schema of the enum lists its values
  'enum.in': (_, field) => ({ enum: allowedNames(field) }),
  'enum.notIn': (values: readonly number[], field) =>
    values.some((number) => number !== 0) ? { enum: allowedNames(field) } : {},
  ...ofIntegers('int32'),
  ...ofIntegers('int64'),
  'string.len': (length: string) => ({ minLength: Number(length), maxLength: Number(length) }),
  'string.minLen': (length: string) => ({ minLength: Number(length) }),
  'string.maxLen': (length: string) => ({ maxLength: Number(length) }),
  'string.pattern': (pattern: string) => ({ pattern: new RegExp(pattern, 'u').source }), // JavaScript's dialect
  'string.in': (values: readonly string[]) => ({ enum: values }),
  'timestamp.gte': nothing, // the years that RFC 3339 can represent
  'timestamp.lte': nothing,
  'repeated.minItems': (count: string) => ({ minItems: Number(count) }),
  'repeated.maxItems': (count: string) => ({ maxItems: Number(count) }),
  'repeated.unique': (uniqueItems: boolean) => ({ uniqueItems }),
  'repeated.items': (rules: JsonObject, field) => ({ items: translate(field, rules, 'items.') }),
};

/** The rules of integers. Those of int64 are texts. */
function ofIntegers(type: string): Readonly<Record<string, Translation>> {
  return {
    [`${type}.gte`]: (value: Json, field) => ({ minimum: exact(value, field) }),
    [`${type}.lte`]: (value: Json, field) => ({ maximum: exact(value, field) }),
    [`${type}.gt`]: (value: Json, field) => ({ minimum: exact(value, field) + 1 }),
    [`${type}.lt`]: (value: Json, field) => ({ maximum: exact(value, field) - 1 }),
    [`${type}.in`]: (values: readonly Json[], field) => ({ enum: values.map((value) => exact(value, field)) }),
  };
}

/** The integer of a rule or an example. Readers of the document would round one beyond 2^53. */
export function exact(value: Json, field: DescField): number {
  if (Number.isSafeInteger(Number(value))) return Number(value);
  throw new Error(`${field.toString()}: the document can't have ${value}, which many readers round: stay below 2^53`);
}

/** `group` is what the rules are of, such as `string.`; empty for those of every field. */
function translate(field: DescField, rules: JsonObject, group: string): JsonObject {
  const keywords = Object.entries(rules).map(([name, value]) => {
    if (name === 'example') return {};
    const translation = TRANSLATIONS[group + name];
    if (translation !== undefined) return translation(value as never, field);
    if (isObject(value)) return translate(field, value, `${name}.`);
    throw new Error(`${field.toString()}: the document does not support the rule ${name}`);
  });
  const all: JsonObject = Object.assign({}, ...keywords);
  if (Number(all.minimum) > Number(all.maximum)) {
    throw new Error(`${field.toString()}: the document does not support a range without its middle`);
  }
  return all;
}

/**
 * The pattern of a text without control characters whose length counts after trimming. `maxLength` would be too strict:
 * the server accepts blanks around the text and trims them.
 *
 * It is in ASCII, with the escapes that ECMA-262 and RE2 share: tools write it into code, where U+2028 ends a line. So
 * it does not name the blanks beyond U+00A0, and has only a part of the rule: at most so many characters from the first
 * to the last visible one of ASCII, and twice as many, since to some a character beyond U+FFFF is two. It refuses
 * nothing that the server accepts.
 */
function trimmedText(cel: readonly { readonly expression: string }[], field: DescField): JsonObject {
  const [length, forbidden] = cel;
  const [, max] = /^this\.trim\(\)\.size\(\) >= 1 && .* <= (\d+)$/.exec(length?.expression ?? '') ?? [];
  if (cel.length !== 2 || max === undefined || forbidden?.expression !== NO_CONTROL) {
    throw new Error(`${field.toString()}: the document does not support its CEL rules`);
  }
  const [any, blank, visible] = [String.raw`[^\x00-\x1f\x7f-\x9f]`, String.raw`[ \xa0]`, '[!-~]'];
  const [other, otherVisible] = [String.raw`[^\x00-\x1f!-\x9f]`, String.raw`[^\x00-\xa0]`];
  const span = `${visible}(${any}{0,${2 * Number(max) - 2}}${visible})?${other}*`;
  return { minLength: 1, pattern: `^${blank}*(${otherVisible}${other}*(${span})?|${span})$` };
}
