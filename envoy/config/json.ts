/** What json.lua has to know of the requests: the fields of their bodies. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { TIMESTAMP, wrappedList } from '../../src/platform/proto/fields.ts';
import { bodyOf, type Operation } from '../../src/platform/proto/operations.ts';
import { toLuaPattern } from '../../src/platform/proto/paths.ts';

export type LuaValue = string | number | boolean | undefined | LuaTable;

export interface LuaTable {
  readonly [key: string]: LuaValue;
}

/** The bodies by a Lua pattern of method and path. */
export function bodiesToRead(operations: Iterable<Operation>): LuaTable {
  const bodies = [...operations].flatMap((operation) => {
    const { input, bodyField, routes } = operation;
    const field = input.fields.find(({ name }) => name === bodyField);
    const all = bodyField === '*' ? bodyOf(operation)?.fields : undefined;
    const body = all ? { name: '', type: 'object', fields: shapesOf(all, [input]) } : field && shapeOf(field, []);
    return body === undefined ? [] : routes.map((route) => [toLuaPattern(route.method, route), body]);
  });
  return Object.fromEntries(bodies);
}

function fieldsOf(message: DescMessage, parents: readonly DescMessage[]): LuaTable {
  if (parents.includes(message)) throw new Error(`${message.typeName} contains itself`);
  return shapesOf(message.fields, [...parents, message]);
}

/** The fields by their keys in quotes. A caller may use both names of a field. */
function shapesOf(fields: readonly DescField[], parents: readonly DescMessage[]): LuaTable {
  const keys = fields.flatMap((field) => {
    const shape = shapeOf(field, parents);
    return [field.jsonName, field.name].map((name) => [`"${name}"`, shape]);
  });
  return Object.fromEntries(keys);
}

function shapeOf(field: DescField, parents: readonly DescMessage[]): LuaTable {
  const wrapped = wrappedList(field);
  const { message, fieldKind } = wrapped ?? field;
  const type = typeOf(wrapped ?? field);
  return {
    name: field.name,
    type,
    is_list: fieldKind === 'list',
    is_wrapped: wrapped !== undefined,
    fields: type === 'object' && message !== undefined ? fieldsOf(message, parents) : undefined,
  };
}

const SCALARS: Readonly<Partial<Record<ScalarType, string>>> = {
  [ScalarType.BOOL]: 'bool',
  [ScalarType.INT64]: 'whole',
  [ScalarType.INT32]: 'whole',
  [ScalarType.STRING]: 'string',
};

/** What json.lua takes for a value of the field. A Timestamp is a text. */
function typeOf(field: DescField): string {
  const { message, scalar } = field;
  if (message?.typeName === TIMESTAMP) return 'time';
  // The other messages of google.protobuf have JSON of their own, too.
  if (message && !message.typeName.startsWith('google.protobuf.')) return 'object';
  const type = field.enum === undefined ? SCALARS[scalar ?? ScalarType.BYTES] : 'enum';
  if (type === undefined) throw new Error(`${field} has a type that is not supported yet`);
  return type;
}
