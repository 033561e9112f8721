/** Checks of REST requests that the transcoder does not make: content type and query parameters. */
import { apiError, invalidArgument } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';

/** How many invalid query parameters an error names at most. */
const MAX_NAMED = 20;

/** Throws unless the content type is JSON. Undefined means that the request has no body. */
export function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined) return;
  const [mediaType] = contentType.split(';', 1);
  if (mediaType?.trim().toLowerCase() !== 'application/json') {
    throw apiError('UNSUPPORTED_CONTENT_TYPE', { contentType });
  }
}

/** Throws for unknown query parameters, and for repeated ones that may occur only once. */
export function checkQuery(path: string, operation: Operation): void {
  const start = path.indexOf('?');
  if (start === -1) return;
  const counts = new Map<string, number>();
  for (const name of new URLSearchParams(path.slice(start + 1)).keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const violations = [...counts].flatMap(([name, count]) => {
    const description = describeViolation(operation, name, count);
    return description === undefined ? [] : [{ path: name, name, description }];
  });
  if (violations.length > 0) throw invalidArgument(violations.slice(0, MAX_NAMED));
}

function describeViolation({ queryParameters, input }: Operation, name: string, count: number): string | undefined {
  if (!queryParameters.has(name)) return 'is not a query parameter here';
  const isList = input.fields.some((field) => field.jsonName === name && field.fieldKind === 'list');
  return count > 1 && !isList ? 'is given more than once' : undefined;
}
