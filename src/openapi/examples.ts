/** Examples, composed of those of single fields (`buf.validate`'s `example`), so that they agree with each other. */
import { type DescEnum, type DescField, type DescMessage, ScalarType, toJson } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { rulesOf } from './constraints.ts';
import type { Json, JsonObject } from './json.ts';

/** Every int64 of the interface is an id; this is the first id of a new store. */
const FIRST_ID = 1;

/** The entity tag of the pet that the examples create in a new store. */
export const ETAG = '"4lopUGI33HG_w_A_43xix1"';

/** The example of one field; undefined when it has none. */
export function exampleOf(field: DescField): Json | undefined {
  if (field.fieldKind === 'enum') return enumExample(field.enum, rulesOf(field));
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.INT64) return FIRST_ID;
  if (field.fieldKind === 'message' && field.message.typeName !== TimestampSchema.typeName) {
    return exampleOfMessage(field.message);
  }
  if (field.fieldKind === 'list' && field.scalar === ScalarType.INT64) return [FIRST_ID];
  const { type } = rulesOf(field);
  switch (type.case) {
    case 'bool':
    case 'int32':
    case 'string':
      return type.value.example[0];
    case 'repeated': {
      const items = type.value.items?.type;
      return items?.case === 'string' ? items.value.in.slice(0, 1) : undefined;
    }
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

function enumExample(desc: DescEnum, { type }: ReturnType<typeof rulesOf>): string | undefined {
  const number = type.case === 'enum' ? type.value.example[0] : undefined;
  return desc.values.find((value) => value.number === (number ?? 1))?.name;
}
