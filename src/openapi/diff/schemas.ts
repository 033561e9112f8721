/** Finds breaking changes of a schema. It supports the JSON Schema keywords that our plugin writes. */
import { type Json, type JsonObject, list, object } from '../json.ts';
import { type Part, step } from './document.ts';

/** A request schema must not become stricter, a response schema not looser. */
export type Direction = 'request' | 'response';

const LOWER_BOUNDS = ['minimum', 'minLength'] as const;
const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems'] as const;

/** Returns one line for each breaking change, with its place in the value: `.status: …`, `[].id: …`. */
export function compareSchemas(before: Part, after: Part, direction: Direction, at = ''): string[] {
  const [was, is] = [merged(before), merged(after)];
  if (was.value.type !== is.value.type || was.value.format !== is.value.format) {
    return [`${at}: the type was ${typeOf(was.value)} and is ${typeOf(is.value)}`];
  }
  return [
    ...compareValues(was.value, is.value, direction).map((text) => `${at}: ${text}`),
    ...(direction === 'request' ? compareBounds(was.value, is.value).map((text) => `${at}: ${text}`) : []),
    ...compareProperties(was, is, direction, at),
    ...(was.value.items === undefined
      ? []
      : compareSchemas(step(was, 'items'), step(is, 'items'), direction, `${at}[]`)),
  ];
}

/** Merges the schemas of `allOf` into the schema. */
function merged({ root, value }: Part): Part {
  const { allOf, ...own } = value;
  const parts = [...list(allOf).map((part) => merged(step({ root, value: { part } }, 'part')).value), own];
  const properties: Record<string, Json> = {};
  for (const part of parts) {
    for (const [name, schema] of Object.entries(object(part.properties))) {
      properties[name] = { ...object(properties[name]), ...object(schema) };
    }
  }
  const required = parts.flatMap((part) => list(part.required));
  return { root, value: { ...Object.assign({}, ...parts), properties, required } };
}

function typeOf({ type, format }: JsonObject): string {
  return [type, format].filter((text) => text !== undefined).join(' ') || 'any';
}

function compareValues(was: JsonObject, is: JsonObject, direction: Direction): string[] {
  const [before, after] = [allowedValues(was), allowedValues(is)];
  if (direction === 'request') {
    if (after === undefined) return [];
    if (before === undefined) return ['not every value is accepted any more'];
    return before.filter((value) => !after.includes(value)).map((value) => `${value} is not accepted any more`);
  }
  if (before === undefined) return [];
  if (after === undefined) return ['it may have any value now'];
  return after.filter((value) => !before.includes(value)).map((value) => `it may be ${value} now`);
}

function allowedValues({ enum: values, const: only }: JsonObject): readonly Json[] | undefined {
  if (only !== undefined) return [only];
  return values === undefined ? undefined : list(values);
}

function compareBounds(was: JsonObject, is: JsonObject): string[] {
  const number = (value: Json | undefined, fallback: number) => (typeof value === 'number' ? value : fallback);
  const narrowed = [
    ...LOWER_BOUNDS.filter((name) => number(is[name], -Infinity) > number(was[name], -Infinity)),
    ...UPPER_BOUNDS.filter((name) => number(is[name], Infinity) < number(was[name], Infinity)),
    ...(is.pattern !== undefined && is.pattern !== was.pattern ? ['pattern'] : []),
  ];
  return narrowed.map((name) => `${name} was ${was[name] ?? 'not there'} and is ${is[name]}`);
}

function compareProperties(was: Part, is: Part, direction: Direction, at: string): string[] {
  const [before, after] = [object(was.value.properties), object(is.value.properties)];
  const [needed, given] = [list(was.value.required), list(is.value.required)];
  const changed =
    direction === 'request'
      ? given.filter((name) => !needed.includes(name)).map((name) => `${at}.${name}: it is required`)
      : needed.filter((name) => !given.includes(name)).map((name) => `${at}.${name}: it may be absent`);
  const compared = Object.keys(before).flatMap((name) => {
    if (after[name] === undefined) return [`${at}.${name}: it is gone`];
    return compareSchemas(step(was, 'properties', name), step(is, 'properties', name), direction, `${at}.${name}`);
  });
  return [...changed.filter((line) => !compared.includes(line)), ...compared];
}
