/**
 * Entity tags (RFC 9110, section 8.8.3), and the lists of them in conditions. A tag is kept with its quotes: `"abc"`.
 *
 * The service's tags are digests of the message in protobuf's binary form, which has each set field once, in the order
 * of the field numbers. So a tag is the same for REST and gRPC, on every engine, and in later releases.
 */
import { hash } from 'node:crypto';

/** In base64url characters: 132 bits make collisions impossible in practice, even deliberate ones. */
const DIGEST_LENGTH = 22;

export function entityTag(message: Uint8Array): string {
  return `"${hash('sha256', message, 'base64url').slice(0, DIGEST_LENGTH)}"`;
}

/** A list of tags, or `*` alone. */
export type EntityTags = readonly string[];

const ANY: EntityTags = ['*'];

/** No caller holds more of one resource. A list of 23 KB has 7,700, which would take the server 3 ms to read. */
export const MAX_TAGS = 100;

/** One list element, which may be empty (section 5.6.1.2), and its comma. Matching takes linear time. */
const ELEMENT = /[ \t]*(?:((?:W\/)?"[!\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** Parses a header's value. Undefined when it is not a list of entity tags, an empty one, or too long. */
export function parseEntityTags(text: string): EntityTags | undefined {
  if (text.trim() === '*') return ANY;
  const tags: string[] = [];
  let elements = 0;
  for (let end = 0; end < text.length; end = ELEMENT.lastIndex) {
    elements += 1;
    if (elements > 2 * MAX_TAGS) return undefined;
    ELEMENT.lastIndex = end;
    const element = ELEMENT.exec(text);
    if (element === null) return undefined;
    if (element[1] !== undefined) tags.push(element[1]);
  }
  return tags.length > 0 && tags.length <= MAX_TAGS ? tags : undefined;
}

/** Whether an If-Match list contains `tag`, by strong comparison: weak tags never match. */
export function matchesStrongly(tags: EntityTags, tag: string): boolean {
  return tags === ANY || tags.includes(tag);
}

/** Whether an If-None-Match list contains `tag`, by weak comparison. */
export function matchesWeakly(tags: EntityTags, tag: string): boolean {
  return tags === ANY || tags.includes(tag) || tags.includes(`W/${tag}`);
}
