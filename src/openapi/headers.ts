/** The response headers of the document: references to those in document.yaml. */
import type { JsonObject } from './json.ts';
import { BASE, refTo } from './parts.ts';

const ALWAYS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'];

/** The headers of every response, and the named ones. */
export function headers(...names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, refTo('headers', name)]));
}

/** The same, but those of every response are optional: Envoy has none when the server, which counts, is unavailable. */
export function headersIfKnown(...names: readonly string[]): JsonObject {
  const known = ALWAYS.map((name) => [name, { ...BASE.components.headers[name], required: undefined }]);
  return { ...headers(...names), ...Object.fromEntries(known) };
}

export function nextLink(): JsonObject {
  return { Link: refTo('headers', 'Link-Next') };
}

export function deprecationHeaders(): JsonObject {
  const [since, sunset, successor] = ['Deprecation', 'Sunset', 'Link-Successor'].map((name) => refTo('headers', name));
  return { Deprecation: since, Sunset: sunset, Link: successor };
}
