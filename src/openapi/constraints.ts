/**
 * `buf.validate` rules of a field as JSON Schema. A rule that this file has no words for stops the generation: a
 * document that silently promised less than the server asks would be worse than none.
 */
import { type DescField, getOption, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldRules,
  Int32RulesSchema,
  RepeatedRulesSchema,
  type Rule,
  StringRulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import type { JsonObject } from './json.ts';

/** What CEL's `trim` takes away (Unicode's White_Space), without what is a control character. */
const BLANK = ' \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

export function rulesOf(field: DescField): FieldRules {
  return getOption(field, fieldRules);
}

/** The keywords that say the rules of `field`, for the schema of its value. */
export function toKeywords(field: DescField): JsonObject {
  const rules = rulesOf(field);
  checkKnown(field, FieldRulesSchema, rules, ['required', 'cel', rules.type.case ?? '']);
  return { ...trimmedText(field, rules.cel), ...typeKeywords(field, rules) };
}

function typeKeywords(field: DescField, { type }: FieldRules): JsonObject {
  switch (type.case) {
    case undefined:
    case 'bool': // has an example at the most
    case 'int64': // likewise
    case 'enum': // an enum's schema lists what is defined, less the zero value
    case 'timestamp': // held to the years that RFC 3339 can write
      return {};
    case 'int32': {
      checkKnown(field, Int32RulesSchema, type.value, ['gte', 'lte', 'example']);
      const { greaterThan, lessThan } = type.value;
      return { minimum: greaterThan.value, maximum: lessThan.value };
    }
    case 'string':
      checkKnown(field, StringRulesSchema, type.value, ['max_len', 'example']);
      return type.value.maxLen === 0n ? {} : { maxLength: Number(type.value.maxLen) };
    case 'repeated':
      checkKnown(field, RepeatedRulesSchema, type.value, ['max_items']);
      return { maxItems: Number(type.value.maxItems) };
    default:
      throw new Error(`${field.toString()}: the document has no words for rules of the kind ${type.case}`);
  }
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
      throw new Error(`${field.toString()}: the document has no words for the rule ${rule.name}`);
    }
  }
}

/**
 * The pattern of a text whose length counts after trimming and that has no control characters. `maxLength` could not
 * say it: it would refuse blanks around the text that the server takes, and trims.
 */
function trimmedText(field: DescField, cel: readonly Rule[]): JsonObject {
  if (cel.length === 0) return {};
  const [length, forbidden] = cel;
  const [, min, max] = /^this\.trim\(\)\.size\(\) >= (\d+) && .* <= (\d+)$/.exec(length?.expression ?? '') ?? [];
  const [, characters] = /^!this\.matches\('\[(.+)\]'\)$/.exec(forbidden?.expression ?? '') ?? [];
  if (cel.length !== 2 || min !== '1' || max === undefined || characters === undefined) {
    throw new Error(`${field.toString()}: the document has no words for its CEL rules`);
  }
  const control = toEcmaClass(characters);
  const edge = `[^${control}${BLANK}]`;
  return { minLength: 1, pattern: `^[${BLANK}]*${edge}([^${control}]{0,${Number(max) - 2}}${edge})?[${BLANK}]*$` };
}

/** RE2 writes a character as `\x00` or `\x{9f}`; ECMA-262, which JSON Schema asks for, as `\u0000`. In CEL each `\` is doubled. */
function toEcmaClass(re2: string): string {
  return re2.replace(/\\\\x(?:\{(\w+)\}|(\w\w))/g, (_, braced?: string, plain?: string) => {
    return `\\u${(braced ?? plain ?? '').padStart(4, '0')}`;
  });
}
