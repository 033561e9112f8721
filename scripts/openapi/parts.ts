/** What people write for the description: document.yaml, the pages of docs/callers, the comments of the proto files. */
import { readFileSync } from 'node:fs';
import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';
import { parse } from 'yaml';
import type { JsonObject } from './json.ts';

interface Base extends JsonObject {
  readonly components: Readonly<Record<'schemas' | 'parameters' | 'headers', Readonly<Record<string, JsonObject>>>>;
}

/** The document without its operations and pages. */
export const BASE: Base = parse(readPart('document.yaml'));

/** A reference to a header or parameter in document.yaml. */
export function refTo(kind: 'parameters' | 'headers', name: string): JsonObject {
  if (BASE.components[kind][name] === undefined) throw new Error(`document.yaml has no ${name} in its ${kind}`);
  return { $ref: `#/components/${kind}/${name}` };
}

const RATE_LIMIT = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit-Policy', 'RateLimit'];
const ALWAYS = [...RATE_LIMIT, 'X-Request-Id'];

/** The headers of every response, and the named ones. */
export function headers(...names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, refTo('headers', name)]));
}

/** The same, but those of every response are optional: Envoy has none when the server, which counts, is unavailable. */
export function headersIfKnown(...names: readonly string[]): JsonObject {
  const known = ALWAYS.map((name) => [name, { ...BASE.components.headers[name], required: undefined }]);
  return { ...headers(...names), ...Object.fromEntries(known) };
}

/** What the page of errors has in the repository, in the place of the table. */
const TABLE_OF_ERRORS = '[The table of all codes](../../gen/docs.md#errors)';

/** What pages link to in the repository, and the heading on the docs page that has it. */
const REFERENCE = ['](../../gen/public.proto)', '](#grpc-reference)'] as const;

/** A link to a file in a folder of the page, alone on its line: the file is shown in its place. */
const INCLUDED = /^\[`([^`\n]+\.(\w+))`\]\((\S+)\)$/gm;

/**
 * A page as a tag without operations, which docs pages show as text. A link to another page becomes one to its heading.
 */
export function readPage(name: string, errors: string): JsonObject {
  const [, title = '', text = ''] = /^# (.+?)\n\n(.+)\n$/s.exec(readPart(`../../docs/callers/${name}.md`)) ?? [];
  if (text === '') throw new Error(`the page ${name}.md has no title or no text`);
  const include = (_: string, file: string, language: string, path: string) =>
    folded(file, language, readPart(`../../docs/callers/${path}`));
  const whole = text
    .replace(INCLUDED, include)
    .replace(TABLE_OF_ERRORS, () => errors)
    .replaceAll(...REFERENCE);
  return toPage(title, whole.replace(/\]\(([\w-]+)\.md\)/g, '](#$1)'));
}

/** `x-traitTag` marks a tag of text alone for Redoc and others. */
export function toPage(name: string, description: string): JsonObject {
  return { name, description, 'x-traitTag': true };
}

/** A block of code that a click opens. */
export function folded(summary: string, language: string, code: string): string {
  return `<details>\n<summary>${summary}</summary>\n\n\`\`\`${language}\n${code}\`\`\`\n\n</details>`;
}

type Commented = DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescService;

/** Returns the comment above `desc`; line breaks within a paragraph become spaces. Throws when there is none. */
export function commentOf(desc: Commented): string {
  const { leading = '' } = getComments(desc);
  const paragraphs = leading.split(/\n\s*\n/).map((paragraph) => paragraph.replace(/\s+/g, ' ').trim());
  const text = paragraphs.join('\n\n');
  if (text === '') throw new Error(`${desc.toString()} has no comment to describe it`);
  return text;
}

function readPart(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}
