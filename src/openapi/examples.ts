/** Examples, composed of those of single fields (`buf.validate`'s `example`), so that they agree with each other. */
import { type DescEnum, type DescField, type DescMessage, ScalarType, toJson } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { FieldRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { wrappedList } from '../proto/fields.ts';
import { rulesOf } from './constraints.ts';
import type { Json, JsonObject } from './json.ts';

/** Every int64 of the interface is an id; this is the first id of a new store. */
export const FIRST_ID = 1;

/** The entity tag of the pet that the examples create in a new store, as test/rest/description.test.ts checks. */
export const ETAG = '"4lopUGI33HG_w_A_43xix1"';

/** The example of one field; undefined when it has none. */
export function exampleOf(field: DescField): Json | undefined {
  const list = wrappedList(field);
  if (list !== undefined) return exampleOf(list);
  const rules = rulesOf(field);
  if (field.fieldKind !== 'list') return exampleOfValue(field, rules);
  const items = rules.type.case === 'repeated' ? rules.type.value.items : undefined;
  const item = exampleOfValue(field, items);
  return item === undefined ? undefined : [item];
}

/** The example of a field that is no list, or of an item. */
function exampleOfValue({ enum: values, message, scalar }: DescField, rules: FieldRules | undefined) {
  if (values !== undefined) return enumExample(values, rules);
  if (scalar === ScalarType.INT64) return FIRST_ID;
  if (message !== undefined && message.typeName !== TimestampSchema.typeName) return exampleOfMessage(message);
  const { type } = rules ?? {};
  switch (type?.case) {
    case 'bool':
    case 'int32':
      return type.value.example[0];
    case 'string':
      return type.value.example[0] ?? type.value.in[0];
    case 'timestamp':
      return type.value.example[0] && toJson(TimestampSchema, type.value.example[0]);
    default:
      return undefined;
  }
}

/** An object with the example of every included field that has one; of a oneof, with its first field. */
export function exampleOfMessage(
  message: DescMessage,
  includes: (field: DescField) => boolean = () => true,
): JsonObject {
  const isFirst = (field: DescField) => field.oneof === undefined || field.oneof.fields[0] === field;
  const fields = message.fields.filter((field) => isFirst(field) && includes(field));
  return Object.fromEntries(fields.map((field) => [field.jsonName, exampleOf(field)]));
}

function enumExample(desc: DescEnum, rules: FieldRules | undefined): string | undefined {
  const number = rules?.type.case === 'enum' ? rules.type.value.example[0] : undefined;
  return desc.values.find((value) => value.number === (number ?? 1))?.name;
}
