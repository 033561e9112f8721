/**
 * Adds entity tags to responses, and reads the conditions If-Match and If-None-Match (RFC 9110, sections 8.8.3, 13.1.1
 * and 13.1.2). The write evaluates If-Match in its transaction. Only REST has the other. A list has a tag only if
 * exactly one id is asked for: that of the resource.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { invalidArgument } from '../errors.ts';
import { CONDITIONS } from '../proto/operations.ts';
import { around, type Call, encoded } from '../rpc/chain.ts';
import { type EntityTags, entityTag, MAX_TAGS, matchesWeakly, parseEntityTags } from '../rpc/entity-tags.ts';

const after = { readTurns: 'a page is encoded in its turn' };

export const etags = around({ name: 'etags', needs: ['request'], leaves: ['ifMatch'], after }, async (call, next) => {
  const { isTagged, idList, condition, response: shape } = call.operation;
  const hasOneId = idList !== undefined && (call.request as unknown as IdLists)[idList.localName]?.length === 1;
  const ifMatch = condition === 'if-match' ? readCondition(call, condition) : undefined;
  if (ifMatch !== undefined) call.ifMatch = ifMatch;
  const isConditional = condition === 'if-none-match' && call.protocol.name === 'REST' && (isTagged || hasOneId);
  const ifNoneMatch = isConditional ? readCondition(call, condition) : undefined;
  const response = await next(call);
  if ('messages' in response || !(isTagged || hasOneId)) return response;
  const bytes = encoded(call, response);
  const tagged = hasOneId ? firstItem(bytes, shape.list?.number) : bytes;
  if (tagged === undefined) return { ...response, bytes };
  const etag = entityTag(tagged);
  call.responseHeaders.set('etag', etag);
  return { ...response, bytes, isUnmodified: ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, etag) };
});

type IdLists = Readonly<Record<string, readonly unknown[]>>;

/** The bytes of the first item of a list, which has this number; undefined when the list is empty. */
function firstItem(page: Uint8Array, list: number | undefined): Uint8Array | undefined {
  const reader = new BinaryReader(page);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (number === list) return reader.bytes();
    reader.skip(type, number);
  }
  return undefined;
}

/** The tags in a conditional header; undefined without it. */
function readCondition(call: Call, path: keyof typeof CONDITIONS): EntityTags | undefined {
  const value = call.header(path);
  if (value === undefined) return undefined;
  const tags = parseEntityTags(value);
  const description = `must be * or a list of entity tags in double quotes, as ETag gives them, at most ${MAX_TAGS}`;
  if (tags === undefined) throw invalidArgument([{ path, name: CONDITIONS[path], description }]);
  return tags;
}
