/** Fields by their path in a request, lists that may be absent, and names without white space around them. */
import { type DescField, type DescMessage, getOption, ScalarType } from '@bufbuild/protobuf';
import { field as fieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';

export type ListField = DescField & { readonly fieldKind: 'list' };

/** Its JSON is a text (RFC 3339), not an object. */
export const TIMESTAMP = 'google.protobuf.Timestamp';

/** The types of values in the JSON of requests: a field's, or that of each of its items. */
export type JsonType = 'whole' | 'string' | 'bool' | 'enum' | 'time' | 'object';

const SCALARS: Readonly<Partial<Record<ScalarType, JsonType>>> = {
  [ScalarType.BOOL]: 'bool',
  [ScalarType.INT64]: 'whole',
  [ScalarType.INT32]: 'whole',
  [ScalarType.STRING]: 'string',
};

/** Undefined for a type that REST does not have. A Timestamp is a text. */
export function jsonTypeOf({ fieldKind, message, enum: names, scalar }: DescField): JsonType | undefined {
  if (fieldKind === 'map') return undefined;
  if (message?.typeName === TIMESTAMP) return 'time';
  // The other messages of google.protobuf have JSON of their own, too.
  if (message !== undefined) return message.typeName.startsWith('google.protobuf.') ? undefined : 'object';
  return names === undefined ? scalar && SCALARS[scalar] : 'enum';
}

/**
 * The list in a message that has nothing else: `message Tags { repeated string values = 1; }`. As a field it is a list
 * that may be absent, which a repeated field can't be. REST has it as an array, like any list.
 */
export function wrappedList({ fieldKind, message }: DescField): ListField | undefined {
  const [list, ...others] = (fieldKind === 'message' && message?.fields) || [];
  return list?.fieldKind === 'list' && list.name === 'values' && others.length === 0 ? list : undefined;
}

/** The names of an enum that the rules of the field, or of its items, allow. Zero is never one. */
export function allowedNames(field: DescField): readonly string[] {
  const { type } = getOption(field, fieldRules);
  const ofItem = type.case === 'repeated' ? type.value.items?.type : type;
  const { in: only = [], notIn = [] } = ofItem?.case === 'enum' ? ofItem.value : {};
  const isAllowed = (number: number) => !notIn.includes(number) && (only.length === 0 || only.includes(number));
  return (field.enum?.values ?? []).flatMap(({ name, number }) => (number !== 0 && isAllowed(number) ? [name] : []));
}

/** What is wrong with a value that is none of the enum's, or that a rule forbids. */
export function noneOf(field: DescField): string {
  return `is none of ${allowedNames(field).join(', ')}`;
}

interface FoundField {
  /** Undefined when there is no such field. */
  readonly field: DescField | undefined;
  /** The path in the request message, in protobuf's names: `thing.parts[1].color_id`. */
  readonly path: string;
  /** The path as REST callers know it, within the body and without the message around a list: `parts[1].colorId`. */
  readonly name: string;
}

/** What a request message is, and which of its fields is the REST body. */
interface RequestOf {
  readonly input: DescMessage;
  readonly bodyField?: string | undefined;
}

/** Finds a field by its path in the request message, in JSON's or protobuf's names, with indexes: `thing.tags[2]`. */
export function fieldAt({ input, bodyField }: RequestOf, path: string): FoundField {
  const steps = path.split('.').map((step) => /^([^[]*)(.*)$/s.exec(step) ?? []);
  const [inProto, names]: [string[], string[]] = [[], []];
  let field: DescField | undefined;
  for (const [index, [, step = '', item = '']] of steps.entries()) {
    const list = field && wrappedList(field);
    const fields = index === 0 ? input.fields : field?.message?.fields;
    field = fields?.find(({ name, jsonName }) => name === step || jsonName === step);
    inProto.push((field?.name ?? step) + item);
    const name = (field?.jsonName ?? step) + item;
    const isBody = index === 0 && field?.name === bodyField && steps.length > 1;
    if (list !== undefined && list === field) names.push(`${names.pop()}${item}`);
    else if (!isBody) names.push(name);
  }
  return { field, path: inProto.join('.'), name: names.join('.') };
}

const SPACE = /\p{White_Space}/u;

/** Removes Unicode white space at both ends, like `trim` in the validation rules. JavaScript's also removes U+FEFF. */
export function trimmed(name: string): string {
  let [start, end] = [0, name.length];
  while (start < end && SPACE.test(name.charAt(start))) start += 1;
  while (start < end && SPACE.test(name.charAt(end - 1))) end -= 1;
  return name.slice(start, end);
}
