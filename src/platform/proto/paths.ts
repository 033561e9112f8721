/**
 * Paths with fields of a message in braces, as google.api.http has them. They are read here, once: what the server,
 * json.lua, the description and redirects need of a path is made of its parts. Only Envoy's transcoder reads the text
 * itself: test/rest/forms.test.ts sends the same paths to all three.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';

/** A text, or a field: `{thing_id}`, or `{file=docs}` with the only value that the path has there. */
export type Part = string | { readonly field: string; readonly value?: string };

export interface Path {
  /** As it is written: `/things/{thing_id}:close`. */
  readonly template: string;
  /** Without the verb. */
  readonly parts: readonly Part[];
  /** What is behind the colon at its end: `close`. */
  readonly verb: string | undefined;
}

export function readPath(template: string): Path {
  const [, path = '', verb] = /^(.*?)(?::([\w-]+))?$/s.exec(template) ?? [];
  return { template, parts: partsOf(path), verb };
}

function partsOf(text: string): readonly Part[] {
  return text.split(/\{([^{}]*)\}/).flatMap((piece, index): Part | Part[] => {
    if (index % 2 === 0) return piece === '' ? [] : piece;
    const [field = '', value] = piece.split(/=(.*)/s);
    return value === undefined ? { field } : { field, value };
  });
}

export function fieldsIn({ parts }: Pick<Path, 'parts'>): readonly string[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : part.field));
}

/** Whether the path ends in a verb behind a resource: `/things/{id}:close`. */
export function hasVerb({ parts, verb }: Pick<Path, 'parts' | 'verb'>): boolean {
  return verb !== undefined && typeof parts.at(-1) === 'object';
}

/** The only path, of one whose fields all have a value: of `/{file=docs}` it is `/docs`. */
export function onlyPath({ parts }: Path): string {
  return parts.map((part) => (typeof part === 'string' ? part : part.value)).join('');
}

/** The path without the names of its fields: `/things/{}:close`. */
export function shapeOf({ parts, verb }: Pick<Path, 'parts' | 'verb'>): string {
  const shape = parts.map((part) => (typeof part === 'string' ? part : (part.value ?? '{}'))).join('');
  return shape + behind(verb, '');
}

/** The order in which the transcoder tries paths: by segments, a text before a field; and one with a verb first. */
export function compareAsEnvoy(one: Path, other: Path): number {
  const [first, second] = [one, other].map((path) => {
    const segments = shapeOf({ ...path, verb: undefined }).split('/');
    return segments.map((segment) => (segment === '{}' ? 1 : 0)).join('') + (path.verb === undefined ? 1 : 0);
  }) as [string, string];
  return first < second ? -1 : Number(first > second);
}

/**
 * Matches what the transcoder takes for the path, which ignores slashes at its end, however many. `{thing_id}` matches
 * one segment, which may have colons; but at the end of a path the transcoder takes `verbs`, those of all paths, for
 * verbs. The fields are groups.
 */
export function toRegExp({ parts, verb }: Path, verbs: readonly string[]): RegExp {
  const last = verbs.length === 0 ? '[^/]+' : `(?:(?!:(?:${verbs.join('|')})/*$)[^/])+`;
  const pieces = parts.map((part, index) => {
    if (typeof part !== 'object') return escaped(part, '\\');
    if (part.value !== undefined) return escaped(part.value, '\\');
    return `(?<${part.field}>${verb === undefined && index === parts.length - 1 ? last : '[^/]+'})`;
  });
  return new RegExp(`^${pieces.join('')}${behind(verb, '\\')}/*$`);
}

/** The same in Lua: without groups, and without regard to other paths' verbs. */
export function toLuaPattern({ parts, verb }: Path): string {
  const pieces = parts.map((part) => (typeof part === 'object' ? (part.value ?? '[^/]+') : escaped(part, '%')));
  return `^${pieces.join('')}${behind(verb, '%')}/*$`;
}

function behind(verb: string | undefined, sign: string): string {
  return verb === undefined ? '' : `${sign}:${escaped(verb, sign)}`;
}

function escaped(text: string, sign: string): string {
  return text.replace(/[^\w/]/g, `${sign}$&`);
}

/** The texts of a path, which may have a query, and the fields of the message. @throws Error without such a field. */
export function partsOfMessage(text: string, { typeName, fields }: DescMessage): readonly (string | DescField)[] {
  return partsOf(text).map((part) => {
    if (typeof part === 'string') return part;
    const field = fields.find(({ name }) => name === part.field);
    if (field === undefined) throw new Error(`the path ${text} needs a field ${part.field} of ${typeName}`);
    return field;
  });
}

/** Compiles a path in which each field becomes its value in the message, URL-encoded. */
export function compilePath(text: string, type: DescMessage): (message: unknown) => string {
  const parts = partsOfMessage(text, type);
  return (message) => {
    const values = message as Readonly<Record<string, unknown>>;
    const textOf = (part: string | DescField) =>
      typeof part === 'string' ? part : encodeURIComponent(String(values[part.localName]));
    return parts.map(textOf).join('');
  };
}
