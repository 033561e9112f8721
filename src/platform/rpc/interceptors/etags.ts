/**
 * Adds entity tags to responses, and reads the conditions If-Match and If-None-Match (RFC 9110, sections 8.8.3, 13.1.1
 * and 13.1.2). The conditions are only parsed here: the write evaluates If-Match in its transaction, REST the other.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { invalidArgument } from '../../errors.ts';
import { type Call, encoded, type Interceptor } from '../chain.ts';
import { entityTag, parseEntityTags } from '../entity-tags.ts';

/** The response header with the entity tag. */
export const ETAG = 'etag';

export const etags: Interceptor = async (call, next) => {
  const { isTagged, oneOf, condition } = call.operation;
  const isOneOfList = oneOf !== undefined && (call.request as unknown as IdLists)[oneOf.localName]?.length === 1;
  const isReadCondition = call.protocol.name === 'REST' && (isTagged || isOneOfList);
  if (condition === 'if-match') readCondition(call, condition, 'ifMatch');
  else if (condition !== undefined && isReadCondition) readCondition(call, condition, 'ifNoneMatch');
  const response = await next(call);
  if ('messages' in response || !(isTagged || isOneOfList)) return response;
  const bytes = encoded(call, response);
  const tagged = isOneOfList ? onlyItem(bytes) : bytes;
  if (tagged !== undefined) call.responseHeaders.set(ETAG, entityTag(tagged));
  return { ...response, bytes };
};

type IdLists = Readonly<Record<string, readonly unknown[]>>;

/** The bytes of the item of a list without a next page; undefined when the list is empty. */
function onlyItem(list: Uint8Array): Uint8Array | undefined {
  if (list.length === 0) return undefined;
  const reader = new BinaryReader(list);
  reader.tag();
  return reader.bytes();
}

/** Sets the tags in a conditional header, if the request has it. */
function readCondition(call: Call, header: string, member: 'ifMatch' | 'ifNoneMatch'): void {
  const value = call.header(header);
  if (value === undefined) return;
  const tags = parseEntityTags(value);
  const description = 'must be * or a list of entity tags in double quotes, as ETag gives them';
  if (tags === undefined) throw invalidArgument([{ path: header, name: header, description }]);
  call[member] = tags;
}
