/** The pages for callers as one text, `/docs.md`, for programs that read: from the interface description. */
import type { JsonObject } from './openapi/json.ts';

interface Described extends JsonObject {
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly 'x-stability'?: string;
}

/** The first page, the operations in a line each, and the other pages. */
export function callersPage({ info, tags, paths }: JsonObject): string {
  const { title, description } = info as JsonObject;
  const pages = (tags as readonly JsonObject[]).filter((tag) => tag['x-traitTag'] === true);
  const [first = '', ...others] = pages.map(({ name, description }) => `## ${name}\n\n${description}\n`);
  const operations = Object.entries(paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, { summary, deprecated, 'x-stability': stability }]) => {
      const markers = [stability, deprecated && 'deprecated'].filter(Boolean).map((marker) => ` (${marker})`);
      return `- \`${verb.toUpperCase()} ${path}\`: ${summary}${markers.join('')}`;
    }),
  );
  const list = `## Operations\n\nIn full in \`/openapi.json\` and \`/openapi.yaml\`.\n\n${operations.join('\n')}\n`;
  return [`# ${title}\n\n${description} \`/docs\` is this page for people.\n`, first, list, ...others].join('\n');
}
