/** The description, as the docs page shows it. */
import { readFileSync } from 'node:fs';

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly [string];
  readonly deprecated?: boolean;
  readonly 'x-stability'?: string;
  readonly 'x-sunset'?: string;
  readonly 'x-try-it'?: boolean;
}

interface Description {
  readonly tags: readonly { readonly name: string; readonly description: string; readonly 'x-traitTag'?: boolean }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export const description: Description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));
export const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
