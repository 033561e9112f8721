/**
 * Finds breaking changes between two interface descriptions: requests of a stable operation must not become stricter,
 * responses not looser. Beta and experimental operations may change. docs/compatibility.md states the rules. It knows
 * the keywords that our generator writes.
 */
import { isObject, type Json, type JsonObject } from './json.ts';

type Direction = 'request' | 'response';

const LOWER_BOUNDS = ['minimum', 'minLength'] as const;
const UPPER_BOUNDS = ['maximum', 'maxLength', 'maxItems'] as const;

/** Returns one line for each breaking change, in the order of the old description. */
export function findBreaks(old: JsonObject, current: JsonObject): string[] {
  const after = operations(current);
  return [...operations(old)].flatMap(([name, was]) => {
    const is = after.get(name);
    if (was['x-stability'] !== undefined) return [];
    if (is === undefined) return [`${name}: it is gone`];
    const { 'x-stability': stability } = is;
    const breaks = [
      ...(stability === undefined ? [] : [`it was stable and is ${stability}`]),
      ...compare(requestSchema(was), requestSchema(is), 'request'),
      ...compare(responseSchema(was, is), responseSchema(is, was), 'response'),
    ];
    return breaks.map((text) => `${name}: ${text}`);
  });
}

/** All operations, by method and path: `GET /things`. */
function operations(document: JsonObject): Map<string, JsonObject> {
  const found = Object.entries(object(document.paths)).flatMap(([path, methods]) =>
    Object.entries(object(methods)).map(([method, operation]) => {
      return [`${method.toUpperCase()} ${path}`, object(inline(operation, document))] as const;
    }),
  );
  return new Map(found);
}

/** Replaces each reference by what it stands for. OpenAPI 3.1 allows members beside a reference. */
function inline(value: Json | undefined, document: JsonObject): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => inline(item, document) ?? null);
  const { $ref, ...members } = object(value);
  if (typeof value !== 'object' || value === null) return value;
  const own = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, inline(member, document)]));
  if (typeof $ref !== 'string') return own;
  const target = $ref.split('/').slice(1);
  const found = target.reduce<Json | undefined>((part, name) => object(part)[name], document);
  if (found === undefined) throw new Error(`${$ref} does not resolve`);
  return { ...object(inline(found, document)), ...own };
}

/** A value of a request or response, such as a header, by its name: its schema, and whether it is always there. */
type Member = readonly [name: string, value: JsonObject];

/** The parameters and the body of a request as one schema. */
function requestSchema({ parameters, requestBody }: JsonObject): JsonObject {
  const named = list(parameters).map(object);
  const members = named.map((parameter): Member => [`${parameter.in} parameter ${parameter.name}`, parameter]);
  return schemaOf([...members, ...bodyOf(requestBody)]);
}

/** The headers and bodies of all responses as one schema. An error that only one description has breaks no caller. */
function responseSchema(operation: JsonObject, other: JsonObject): JsonObject {
  const isCompared = ([status]: Member) => status.startsWith('2') || object(other.responses)[status] !== undefined;
  const responses = members(operation.responses).filter(isCompared);
  return schemaOf(
    responses.map(([status, response]) => {
      const headers = members(response.headers).map(([name, header]): Member => [`header ${name}`, header]);
      return [status, { schema: schemaOf([...headers, ...bodyOf(response)]) }];
    }),
  );
}

function bodyOf(value: Json | undefined): Member[] {
  const { content, required } = object(value);
  const { schema } = object(object(content)['application/json']);
  return schema === undefined ? [] : [['body', { schema, required }]];
}

function schemaOf(members: readonly Member[]): JsonObject {
  const properties = Object.fromEntries(members.map(([name, { schema }]) => [name, schema]));
  return { properties, required: members.filter(([, { required }]) => required).map(([name]) => name) };
}

function members(value: Json | undefined): Member[] {
  return Object.entries(object(value)).map(([name, member]) => [name, object(member)]);
}

/** The breaks of a schema, each with its place: `query parameter limit`, `body[].id`, `200 header Link`. */
function compare(was: JsonObject, is: JsonObject, direction: Direction, at = ''): string[] {
  if (typeOf(was) !== typeOf(is)) return [`${at}: the type was ${typeOf(was)} and is ${typeOf(is)}`];
  const place = (name: Json) => (at === '' ? `${name}` : /^\d+$/.test(at) ? `${at} ${name}` : `${at}.${name}`);
  const [needed, given, after] = [list(was.required), list(is.required), object(is.properties)];
  const stricter = given.filter((name) => !needed.includes(name)).map((name) => `${place(name)}: it is required`);
  const looser = needed.filter((name) => !given.includes(name) && after[`${name}`] !== undefined);
  return [
    ...[...compareValues(was, is, direction), ...(direction === 'request' ? compareBounds(was, is) : [])].map(
      (text) => `${at}: ${text}`,
    ),
    ...(direction === 'request' ? stricter : looser.map((name) => `${place(name)}: it may be absent`)),
    ...members(was.properties).flatMap(([name, property]) => {
      const { [name]: successor } = after;
      if (successor === undefined) return [`${place(name)}: it is gone`];
      return compare(property, object(successor), direction, place(name));
    }),
    ...(was.items === undefined ? [] : compare(object(was.items), object(is.items), direction, `${at}[]`)),
  ];
}

function typeOf({ type, format }: JsonObject): string {
  return [type, format].filter((text) => text !== undefined).join(' ') || 'any';
}

function compareValues(was: JsonObject, is: JsonObject, direction: Direction): string[] {
  const [before, after] = [allowedValues(was), allowedValues(is)];
  if (direction === 'request') {
    if (before === undefined && after !== undefined) return ['not every value is accepted any more'];
    return (before ?? [])
      .filter((value) => after?.includes(value) === false)
      .map((value) => `${value} is not accepted any more`);
  }
  if (before !== undefined && after === undefined) return ['it may have any value now'];
  return (after ?? []).filter((value) => before?.includes(value) === false).map((value) => `it may be ${value} now`);
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
    ...(is.pattern !== undefined && unescaped(is.pattern) !== unescaped(was.pattern) ? ['pattern'] : []),
  ];
  return narrowed.map((name) => `${name} was ${was[name] ?? 'not there'} and is ${is[name]}`);
}

/** A pattern with all characters as themselves: `\u00a0`, `\xa0` and the character are the same. */
function unescaped(pattern: Json | undefined): string {
  const ofCharacter = /\\(?:u([\da-f]{4})|x([\da-f]{2}))/gi;
  return String(pattern).replace(ofCharacter, (_, u?: string, x?: string) =>
    String.fromCharCode(parseInt(u ?? x ?? '', 16)),
  );
}

/** The value as an object; an empty one when it is none, so that a path through a document needs no checks. */
function object(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value as a list; an empty one when it is none. */
function list(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
