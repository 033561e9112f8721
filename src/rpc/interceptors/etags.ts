/**
 * Adds entity tags to responses, and reads the conditions If-Match and If-None-Match (RFC 9110, sections 8.8.3, 13.1.1
 * and 13.1.2). The conditions are only parsed here: the write evaluates If-Match in its transaction, REST the other.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { invalidArgument } from '../../errors.ts';
import type { Call, Interceptor } from '../chain.ts';
import { type EntityTags, entityTag, parseEntityTags } from '../entity-tags.ts';

/** The response header with the entity tag. */
export const ETAG = 'etag';

export const etags: Interceptor = async (call, next) => {
  const { isTagged, oneOf } = call.operation;
  const isOneOfList = oneOf !== undefined && (call.request as unknown as IdLists)[oneOf.localName]?.length === 1;
  const ifMatch = readCondition(call, 'if-match');
  if (ifMatch !== undefined) call.ifMatch = ifMatch;
  if (call.protocol.name === 'REST' && (isTagged || isOneOfList)) {
    const ifNoneMatch = readCondition(call, 'if-none-match');
    if (ifNoneMatch !== undefined) call.ifNoneMatch = ifNoneMatch;
  }
  const response = await next(call);
  if (!('bytes' in response)) return response;
  const tagged = isOneOfList ? onlyItem(response.bytes) : isTagged ? response.bytes : undefined;
  if (tagged !== undefined) call.responseHeaders.set(ETAG, entityTag(tagged));
  return response;
};

type IdLists = Readonly<Record<string, readonly unknown[]>>;

/** The bytes of the item of a list without a next page; undefined when the list is empty. */
function onlyItem(list: Uint8Array): Uint8Array | undefined {
  if (list.length === 0) return undefined;
  const reader = new BinaryReader(list);
  reader.tag();
  return reader.bytes();
}

/** The tags in a conditional header; undefined when the header is absent, or the operation does not support it. */
function readCondition(call: Call, header: 'if-match' | 'if-none-match'): EntityTags | undefined {
  const value = call.operation.condition === header ? call.header(header) : undefined;
  if (value === undefined) return undefined;
  const tags = parseEntityTags(value);
  if (tags === undefined) throw invalidArgument([{ path: header, name: header, description: TAGS_DESCRIPTION }]);
  return tags;
}

const TAGS_DESCRIPTION = 'must be * or a list of entity tags in double quotes, as ETag gives them';
