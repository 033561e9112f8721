/**
 * Adds entity tags to responses, and reads the condition If-Match (RFC 9110, sections 8.8.3 and 13.1.1). The condition
 * is only parsed here: the write evaluates it, in its transaction.
 */
import { invalidArgument } from '../../errors.ts';
import type { Call, Interceptor } from '../chain.ts';
import { type EntityTags, entityTag, parseEntityTags } from '../entity-tags.ts';

/** The response header with the entity tag. */
export const ETAG = 'etag';

export const etags: Interceptor = async (call, next) => {
  const ifMatch = readCondition(call, 'if-match');
  if (ifMatch !== undefined) call.ifMatch = ifMatch;
  const response = await next(call);
  if (call.operation.isTagged && 'bytes' in response) call.responseHeaders.set(ETAG, entityTag(response.bytes));
  return response;
};

/** The tags in a conditional header; undefined when the header is absent, or the operation does not support it. */
export function readCondition(call: Call, header: 'if-match' | 'if-none-match'): EntityTags | undefined {
  const value = call.operation.condition === header ? call.header(header) : undefined;
  if (value === undefined) return undefined;
  const tags = parseEntityTags(value);
  if (tags === undefined) throw invalidArgument([{ path: header, name: header, description: TAGS_DESCRIPTION }]);
  return tags;
}

const TAGS_DESCRIPTION = 'must be * or a list of entity tags in double quotes, as ETag gives them';
