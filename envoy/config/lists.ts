/** What lists.lua has to know of the requests: where their bodies have lists and timestamps. */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { TIMESTAMP, wrappedList } from '../../src/proto/fields.ts';
import type { Operation } from '../../src/proto/operations.ts';
import type { LuaTable } from './lua.ts';

/** The bodies with lists or timestamps, by a Lua pattern of method and path. */
export function bodiesToCheck(operations: Iterable<Operation>): LuaTable {
  const bodies = [...operations].flatMap(({ input, bodyField, routes }) => {
    const body = input.fields.find(({ name }) => name === bodyField);
    const fields = body?.message && fieldsToCheck(body.message);
    if (fields === undefined) return [];
    return routes.map(({ method, template }) => [toPattern(method, template), { prefix: `${bodyField}.`, fields }]);
  });
  return Object.fromEntries(bodies);
}

/** `^POST /pets/[^/]+/?$` */
function toPattern(method: string, template: string): string {
  const path = template.split(/\{\w+\}/).map((part) => part.replace(/[^\w/]/g, '%$&'));
  return `^${method} ${path.join('[^/]+')}/?$`;
}

/** The fields to check, or with such fields, by their keys in quotes. The transcoder takes both names of a field. */
function fieldsToCheck(message: DescMessage, parents: readonly DescMessage[] = []): LuaTable | undefined {
  if (parents.includes(message)) throw new Error(`${message.typeName} has a list and contains itself`);
  const keys = message.fields.flatMap((field) => {
    const shape = shapeOf(field, [...parents, message]);
    return shape === undefined ? [] : [field.jsonName, field.name].map((name) => [`"${name}"`, shape]);
  });
  return keys.length === 0 ? undefined : Object.fromEntries(keys);
}

function shapeOf(field: DescField, parents: readonly DescMessage[]): LuaTable | undefined {
  const wrapped = wrappedList(field);
  const { message, fieldKind } = wrapped ?? field;
  if (message?.typeName === TIMESTAMP && fieldKind === 'message') return { name: field.name, is_text: true };
  const fields = message && fieldsToCheck(message, parents);
  if (fieldKind !== 'list' && fields === undefined) return undefined;
  // The messages of google.protobuf have JSON of their own: a Timestamp is a text.
  const has_objects = message !== undefined && !message.typeName.startsWith('google.protobuf.');
  return { name: field.name, is_list: fieldKind === 'list', is_wrapped: wrapped !== undefined, has_objects, fields };
}
