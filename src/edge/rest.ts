/**
 * The REST side of a call. Before the handler: checks that the transcoder does not make, of query parameters and
 * content type. After it: the HTTP response with Location, Link to the next page (RFC 8288), or 304 Not Modified (RFC
 * 9110, section 13.1.2). Calls of the Connect protocol get their response here too.
 */

import type { Call, Interceptor } from '../interceptors/chain.ts';
import { ETAG, readCondition } from '../interceptors/etags.ts';
import { headerOf } from '../interceptors/metadata.ts';
import { fillPath } from '../proto/operations.ts';
import { matchesWeakly } from '../services/entity-tags.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from './headers.ts';
import { connectResponse, NOT_MODIFIED, restResponse } from './http-responses.ts';
import { checkContentType, checkQuery } from './request-checks.ts';

export const rest: Interceptor = {
  name: 'rest',
  after: {
    authentication: 'a caller without a valid key gets a 401 and nothing else',
    limits: 'a request beyond the limit gets a 429, whatever is wrong with it',
    readMessage: 'a body that is too large or too slow gets a 413 or 408, whatever is wrong with its headers',
  },
  async intercept(call, next) {
    // Tells Envoy, which does not know the key yet, that it is valid.
    if (headerOf(call, EDGE_HEADERS.anonymous) !== undefined) call.responseHeaders.set(EDGE_HEADERS.accepted, '1');
    const path = headerOf(call, ORIGINAL_PATH);
    if (path === undefined) return httpResponse.intercept(call, next);
    checkContentType(headerOf(call, EDGE_HEADERS.bodyType));
    checkQuery(path, call.operation);
    const ifNoneMatch = readCondition(call, 'if-none-match');
    const response = await next(call);
    addLinks(call, path, response.message as Readonly<Record<string, unknown>>);
    const etag = call.responseHeaders.get(ETAG);
    const isNotModified = ifNoneMatch !== undefined && etag !== undefined && matchesWeakly(ifNoneMatch, etag);
    return { ...response, http: isNotModified ? NOT_MODIFIED : restResponse(call.operation, response, isHead(call)) };
  },
};

/** Adds the HTTP response for a caller over REST or Connect. Enough for operations that need no key. */
export const httpResponse: Interceptor = {
  name: 'httpResponse',
  after: {},
  async intercept(call, next) {
    const response = await next(call);
    if (headerOf(call, EDGE_HEADERS.connect) !== undefined) return { ...response, http: connectResponse(response) };
    if (headerOf(call, ORIGINAL_PATH) === undefined) return response;
    return { ...response, http: restResponse(call.operation, response, isHead(call)) };
  },
};

/** Adds the Location of what was created, and the Link to the next page of a list. */
function addLinks(call: Call, path: string, message: Readonly<Record<string, unknown>>): void {
  const { location, list } = call.operation.response;
  if (location !== undefined) {
    const toValue = (field: string) => {
      if (message[field] === undefined) throw new Error(`the response of ${call.operation.path} has no field ${field}`);
      return message[field];
    };
    call.responseHeaders.set('location', fillPath(location, toValue));
  }
  if (list === undefined) return;
  const { nextPageToken } = message;
  if (typeof nextPageToken === 'string' && nextPageToken !== '') {
    call.responseHeaders.set('link', `<${nextPage(path, nextPageToken)}>; rel="next"`);
  }
}

/** The path of the next page: that of this request, with another page token. */
function nextPage(path: string, token: string): string {
  const [pathname = '', query = ''] = path.split(/\?(.*)/s, 2);
  const kept = query.split('&').filter((parameter) => parameter !== '' && !parameter.startsWith('pageToken='));
  return `${pathname}?${[...kept, `pageToken=${token}`].join('&')}`;
}
