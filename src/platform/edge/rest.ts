/**
 * What only REST requests need before the handler: checks that the transcoder does not make, of query parameters and
 * content type. rest-protocol.ts makes the response.
 */
import { unescape as decode } from 'node:querystring';
import { apiError, invalidArgument } from '../errors.ts';
import type { Operation } from '../proto/operations.ts';
import type { Interceptor } from '../rpc/chain.ts';
import { resume } from './event-stream.ts';
import { BAD_HOST, EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';

/** Admits only Envoy: what it asks about callers counts nothing against them. */
export const edgeOnly: Interceptor = async (call, next) => {
  if (!call.isForwarded) throw apiError('ROUTE_NOT_FOUND', { method: 'POST', path: call.operation.path });
  return next(call);
};

/** Refuses a Host that Envoy has replaced. */
export const host: Interceptor = async (call, next) => {
  if (call.header(':authority') !== BAD_HOST) return next(call);
  throw invalidArgument([{ path: '', name: 'Host', description: 'must be a host, with or without a port' }]);
};

export const rest: Interceptor = async (call, next) => {
  // Tells Envoy, which does not know the key yet, that it is valid.
  const isUnknown = call.isForwarded && call.header(EDGE_HEADERS.anonymous) !== undefined;
  if (isUnknown) call.responseHeaders.set(EDGE_HEADERS.accepted, '1');
  if (call.protocol.name !== 'REST') return next(call);
  checkContentType(call.header(EDGE_HEADERS.bodyType));
  checkQuery(call.header(ORIGINAL_PATH) ?? '', call.operation);
  return call.operation.isFeed ? resume(call, next) : next(call);
};

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
export function checkQuery(path: string, { queryParameters }: Operation): void {
  const start = path.indexOf('?');
  if (start === -1) return;
  const seen = new Set<string>();
  const wrong = new Map<string, string>();
  for (const parameter of path.slice(start + 1).split('&')) {
    if (parameter === '') continue;
    const name = parameterName(parameter);
    const field = queryParameters.get(name);
    if (field === undefined) wrong.set(name, 'is not a query parameter here');
    else if (seen.has(name) && field.fieldKind !== 'list') wrong.set(name, 'is given more than once');
    else if (!parameter.includes('=')) wrong.set(name, 'has no value');
    else if (decode(parameter).includes('\ufffd')) wrong.set(name, 'is not UTF-8');
    seen.add(name);
  }
  if (wrong.size > 0)
    throw invalidArgument(Array.from(wrong, ([name, description]) => ({ path: name, name, description })));
}

/** The name of a parameter: of `limit=5`, and of `%6Cimit=5`. */
export function parameterName(parameter: string): string {
  return decode(parameter.split('=', 1).join());
}
