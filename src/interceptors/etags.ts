/**
 * Entity tags of what is answered, and the condition If-Match of what is to be changed (RFC 9110, sections 8.8.3 and
 * 13.1.1). The condition is only read here: what it asks for is compared by the write, in its transaction.
 */

import { invalidArgument } from '../errors.ts';
import { type EntityTags, entityTag, parseEntityTags } from '../services/entity-tags.ts';
import type { Call, Interceptor } from './chain.ts';

/** The metadata that names the representation in a response. */
export const ETAG = 'etag';

export const etags: Interceptor = {
  name: 'etags',
  after: {
    authentication: 'a caller without a valid key learns nothing else',
    limits: 'what is past the limit is refused whatever it says',
    rest: 'it tells by the tag whether the caller has the response already',
  },
  async intercept(call, next) {
    const { operation, responseHeaders } = call;
    const ifMatch = readCondition(call, 'if-match');
    if (ifMatch !== undefined) call.ifMatch = ifMatch;
    const response = await next(call);
    if (operation.isTagged) responseHeaders.set(ETAG, entityTag(response.bytes));
    return response;
  },
};

/** The tags that a call names in `header`; undefined when it names none, or that means nothing to its operation. */
export function readCondition(
  { operation, metadata }: Call,
  header: 'if-match' | 'if-none-match',
): EntityTags | undefined {
  if (operation.condition !== header) return undefined;
  const values = metadata.get(header);
  if (values.length === 0) return undefined;
  const tags = parseEntityTags(values.join()); // several are one list
  if (tags === undefined) throw invalidArgument([{ path: header, name: header, description: WHAT_IT_MUST_BE }]);
  return tags;
}

const WHAT_IT_MUST_BE = 'must be * or a list of entity tags in double quotes, as ETag gives them';
