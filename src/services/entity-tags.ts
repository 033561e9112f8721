/**
 * Entity tags (RFC 9110, section 8.8.3): what one representation of a resource is known by, and the lists of them in
 * If-Match and If-None-Match. A tag is kept as it is written, with its quotes: `"abc"`, or `W/"abc"` when it is weak.
 *
 * A tag of ours is a digest of the message in protobuf's binary form, in which each field that has a value stands once,
 * in the order of the field numbers. So it is the same for REST and gRPC, on every engine, and after a new release.
 */
import { hash } from 'node:crypto';

/** So many base64url characters, 132 bits: no two representations ever share them, whoever writes them. */
const DIGEST_LENGTH = 22;

/** The tag of a representation: strong, so it says that all of it is the same. */
export function entityTag(message: Uint8Array): string {
  return `"${hash('sha256', message, 'base64url').slice(0, DIGEST_LENGTH)}"`;
}

/** `*` alone, or tags. */
export type EntityTags = readonly string[];

const ANY: EntityTags = ['*'];

/** One element of a list, which may be empty (section 5.6.1.2), and the comma behind it. Takes linear time. */
const ELEMENT = /[ \t]*(?:((?:W\/)?"[!\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

/** Reads the value of a header; undefined when it is no list of entity tags, or an empty one. */
export function parseEntityTags(text: string): EntityTags | undefined {
  if (text.trim() === '*') return ANY;
  const tags: string[] = [];
  for (let end = 0; end < text.length; end = ELEMENT.lastIndex) {
    ELEMENT.lastIndex = end;
    const element = ELEMENT.exec(text);
    if (element === null) return undefined;
    if (element[1] !== undefined) tags.push(element[1]);
  }
  return tags.length > 0 ? tags : undefined;
}

/** Whether `tag` is one that If-Match asks for: by the strong comparison, in which no weak tag counts. */
export function matchesStrongly(tags: EntityTags, tag: string): boolean {
  return tags === ANY || tags.includes(tag);
}

/** Whether `tag` is one that If-None-Match names: by the weak comparison. */
export function matchesWeakly(tags: EntityTags, tag: string): boolean {
  return tags === ANY || tags.includes(tag) || tags.includes(`W/${tag}`);
}
