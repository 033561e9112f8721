/** Examples, composed of those of single fields (`buf.validate`'s `example`), so that they agree with each other. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { allowedNames, wrappedList } from '../../src/platform/proto/fields.ts';
import { exact, rulesOf } from './constraints.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** The first id of a new store. */
export const FIRST_ID = 1;

/** An int64 with such a name is an id, or a list of ids. Any other needs an example of its own. */
const IS_ID = /(^|_)ids?$/;

/** The example of one field; undefined when it has none. */
export function exampleOf(field: DescField): Json | undefined {
  const list = wrappedList(field);
  if (list !== undefined) return exampleOf(list);
  const rules = ofKind(rulesOf(field));
  if (field.fieldKind !== 'list') return exampleOfValue(field, rules);
  const item = exampleOfValue(field, isObject(rules.items) ? ofKind(rules.items) : {});
  return item === undefined ? undefined : [item];
}

/** The rules for the kind of a value: of `{"required": true, "string": {…}}` those of texts. */
function ofKind(rules: JsonObject): JsonObject {
  return Object.values(rules).find(isObject) ?? {};
}

/** The example of a field that is no list, or of an item. */
function exampleOfValue(field: DescField, rules: JsonObject): Json | undefined {
  const { name, enum: values, message, scalar } = field;
  const [example] = (rules.example ?? rules.in ?? []) as readonly Json[];
  if (values !== undefined)
    return values.values.find(({ number }) => number === example)?.name ?? allowedNames(field)[0];
  if (scalar === ScalarType.INT64)
    return example !== undefined ? exact(example, field) : IS_ID.test(name) ? FIRST_ID : undefined;
  return message === undefined || message.typeName === TimestampSchema.typeName ? example : exampleOfMessage(message);
}

export function exampleOfMessage({ fields }: DescMessage): JsonObject {
  return exampleOfFields(fields);
}

/** An object with the example of every field that has one; of a oneof, with its first field. */
export function exampleOfFields(fields: readonly DescField[]): JsonObject {
  const isFirst = (field: DescField) => field.oneof === undefined || field.oneof.fields[0] === field;
  return Object.fromEntries(fields.filter(isFirst).map((field) => [field.jsonName, exampleOf(field)]));
}
