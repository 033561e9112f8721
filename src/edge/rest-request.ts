/**
 * Judges what the transcoder does not: query parameters that the operation doesn't know, and the content
 * type of the body. Calls that did not come in as REST pass untouched.
 */

import type { Call, Interceptor } from '../interceptors/chain.ts';
import { checkContentType, checkQuery } from './request-rules.ts';

/** Set by Envoy's transcoder: the path as the caller sent it. */
export const ORIGINAL_PATH = 'x-envoy-original-path';
/** Set by Envoy's Lua filter when the request has a body: its content type, empty when none was given. */
const BODY_TYPE = 'x-petstore-body-type';

export const restRequest: Interceptor = {
  name: 'rest-request',
  after: {
    authentication: 'a caller without a valid key learns nothing else',
    limits: 'what is past the limit is refused whatever it says',
  },
  intercept(call, next) {
    const path = headerOf(call, ORIGINAL_PATH);
    if (path === undefined) return next(call);
    checkContentType(headerOf(call, BODY_TYPE));
    checkQuery(path, call.operation);
    return next(call);
  },
};

function headerOf(call: Call, name: string): string | undefined {
  const [value] = call.metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}
