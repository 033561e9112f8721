/**
 * What only REST requests need before the handler: checks that the transcoder does not make, of query parameters and
 * content type, and the condition If-None-Match (RFC 9110, section 13.1.2). rest-protocol.ts makes the response.
 */

import { apiError } from '../errors.ts';
import type { Interceptor } from '../interceptors/chain.ts';
import { readCondition } from '../interceptors/etags.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from './headers.ts';
import { checkContentType, checkQuery } from './request-checks.ts';

/** Admits only Envoy: what it asks about callers counts nothing against them. */
export const edgeOnly: Interceptor = {
  name: 'edgeOnly',
  async intercept(call, next) {
    if (!call.isForwarded) throw apiError('ROUTE_NOT_FOUND', { method: 'POST', path: call.operation.path });
    return next(call);
  },
};

export const rest: Interceptor = {
  name: 'rest',
  after: {
    authentication: 'a caller without a valid key gets a 401 and nothing else',
    limits: 'a request beyond the limit gets a 429, whatever is wrong with it',
  },
  async intercept(call, next) {
    // Tells Envoy, which does not know the key yet, that it is valid.
    if (call.header(EDGE_HEADERS.anonymous) !== undefined) call.responseHeaders.set(EDGE_HEADERS.accepted, '1');
    if (call.protocol.name !== 'REST') return next(call);
    checkContentType(call.header(EDGE_HEADERS.bodyType));
    checkQuery(call.header(ORIGINAL_PATH) ?? '', call.operation);
    const ifNoneMatch = readCondition(call, 'if-none-match');
    if (ifNoneMatch !== undefined) call.ifNoneMatch = ifNoneMatch;
    return next(call);
  },
};
