/** Checks of REST requests that the transcoder does not make: content type and query parameters. */
import { apiError, invalidArgument, type Violation } from '../errors.ts';
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

/**
 * Throws for unknown query parameters, for those without a value, and for repeated ones that may occur only once.
 *
 * The query is read as the transcoder reads it, which sets the fields: parameters are separated by `&`, and the name is
 * what stands before the first `=`, percent-decoded. What has no `=` is skipped there, so it is refused here.
 */
export function checkQuery(path: string, operation: Operation): void {
  const start = path.indexOf('?');
  if (start === -1) return;
  const counts = new Map<string, number>();
  const withoutValue = new Set<string>();
  for (const parameter of path.slice(start + 1).split('&')) {
    if (parameter === '') continue;
    const name = parameterName(parameter);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (!parameter.includes('=')) withoutValue.add(name);
  }
  const violations = [...counts].flatMap(([name, count]): Violation[] => {
    const description =
      describeViolation(operation, name, count) ?? (withoutValue.has(name) ? 'has no value' : undefined);
    return description === undefined ? [] : [{ path: name, name, description }];
  });
  if (violations.length > 0) throw invalidArgument(violations.slice(0, MAX_NAMED));
}

function describeViolation({ queryParameters }: Operation, name: string, count: number): string | undefined {
  const field = queryParameters.get(name);
  if (field === undefined) return 'is not a query parameter here';
  return count > 1 && field.fieldKind !== 'list' ? 'is given more than once' : undefined;
}

/** The name of a parameter: of `limit=5`, and of `%6Cimit=5`. One that can't be decoded is returned as it is. */
export function parameterName(parameter: string): string {
  const [name = ''] = parameter.split('=', 1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
