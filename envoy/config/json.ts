/** What json.lua has to know of the requests: the fields of their bodies. */
import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { jsonTypeOf, wrappedList } from '../../src/platform/proto/fields.ts';
import { bodyOf, type Operation } from '../../src/platform/proto/operations.ts';
import { compareAsEnvoy, toLuaPattern } from '../../src/platform/proto/paths.ts';

export type LuaValue = string | number | boolean | undefined | LuaTable | readonly LuaValue[];

export interface LuaTable {
  readonly [key: string]: LuaValue;
}

/** The bodies of each HTTP method, with a Lua pattern of the path. The first one that matches is the request's. */
export function bodiesToRead(operations: Iterable<Operation>) {
  const bodies = [...operations].flatMap((operation) => {
    const { input, bodyField, routes } = operation;
    const field = input.fields.find(({ name }) => name === bodyField);
    const all = bodyField === '*' ? bodyOf(operation)?.fields : undefined;
    const body = all ? { name: '', type: 'object', fields: shapesOf(all) } : field && shapeOf(field);
    return body === undefined ? [] : routes.map((route) => ({ route, body }));
  });
  bodies.sort((one, other) => compareAsEnvoy(one.route, other.route));
  const byMethod = Map.groupBy(bodies, ({ route }) => route.method);
  return Object.fromEntries(
    [...byMethod].map(([method, all]) => [
      method,
      all.map(({ route, body }) => ({ path: toLuaPattern(route), ...body })),
    ]),
  );
}

/** The fields by their keys in quotes. A caller may use both names of a field. */
function shapesOf(fields: readonly DescField[]): LuaTable {
  const keys = fields.flatMap((field) => {
    const shape = shapeOf(field);
    return [field.jsonName, field.name].map((name) => [`"${name}"`, shape]);
  });
  return Object.fromEntries(keys);
}

function shapeOf(field: DescField): LuaTable {
  const wrapped = wrappedList(field);
  const { message, fieldKind, scalar, enum: names } = wrapped ?? field;
  const type = scalar === ScalarType.INT32 ? 'int32' : jsonTypeOf(wrapped ?? field);
  return {
    name: field.name,
    type,
    is_list: fieldKind === 'list',
    is_wrapped: wrapped !== undefined,
    fields: type === 'object' && message !== undefined ? shapesOf(message.fields) : undefined,
    // In quotes, as the keys of fields: toLua would change the capitals of others.
    names: names && Object.fromEntries(names.values.map(({ name }) => [`"${name}"`, true])),
  };
}
