/**
 * What a REST request must hold to and the transcoder does not check: its query parameters and the content type of its
 * body. And the response as a caller over HTTP gets it: the JSON of REST with Location, Link to the next page (RFC
 * 8288), or that the caller has it already (RFC 9110, section 13.1.2); the message alone for Connect. Envoy's filter
 * learns by a header that a key which it doesn't know is accepted.
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
    authentication: 'a caller without a valid key learns nothing else',
    limits: 'what is past the limit is refused whatever it says',
    readMessage: 'how long and how slow a body is comes before what it says',
  },
  async intercept(call, next) {
    if (headerOf(call, EDGE_HEADERS.anonymous) !== undefined) call.responseHeaders.set(EDGE_HEADERS.accepted, '1');
    const path = headerOf(call, ORIGINAL_PATH);
    if (path === undefined) return httpResponse.intercept(call, next);
    checkContentType(headerOf(call, EDGE_HEADERS.bodyType));
    checkQuery(path, call.operation);
    const ifNoneMatch = readCondition(call, 'if-none-match');
    const response = await next(call);
    addLinks(call, path, response.message as Readonly<Record<string, unknown>>);
    const etag = call.responseHeaders.get(ETAG);
    const isKnown = ifNoneMatch !== undefined && etag !== undefined && matchesWeakly(ifNoneMatch, etag);
    return { ...response, http: isKnown ? NOT_MODIFIED : restResponse(call.operation, response, isHead(call)) };
  },
};

/** The response as a caller over HTTP gets it, and no more: for Connect, and for what needs no key. */
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

function addLinks(call: Call, path: string, response: Readonly<Record<string, unknown>>): void {
  const { location, list } = call.operation.response;
  if (location !== undefined) {
    const toValue = (field: string) => {
      if (response[field] === undefined)
        throw new Error(`the response of ${call.operation.path} has no field ${field}`);
      return response[field];
    };
    call.responseHeaders.set('location', fillPath(location, toValue));
  }
  if (list === undefined) return;
  const { nextPageToken } = response;
  if (typeof nextPageToken === 'string' && nextPageToken !== '') {
    call.responseHeaders.set('link', `<${nextPage(path, nextPageToken)}>; rel="next"`);
  }
}

/** The address of the page after this one: the request's own, with another page token. */
function nextPage(path: string, token: string): string {
  const [pathname = '', query = ''] = path.split(/\?(.*)/s, 2);
  const kept = query.split('&').filter((parameter) => parameter !== '' && !parameter.startsWith('pageToken='));
  return `${pathname}?${[...kept, `pageToken=${token}`].join('&')}`;
}
