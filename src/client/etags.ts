/**
 * The entity tags of answers (RFC 9110, section 8.8.3). They come beside the messages, as metadata, and are kept
 * beside them too, so that a message is what the proto files say and nothing more.
 */
import type { Metadata } from '@grpc/grpc-js';

const etags = new WeakMap<object, string>();

/** Keeps the tag that came with an answer, if one did. */
export function keepEtag(answer: object, metadata: Metadata | undefined): void {
  const [etag] = metadata?.get('etag') ?? [];
  if (typeof etag === 'string') etags.set(answer, etag);
}

/**
 * The entity tag of an answer of this client that is one pet, category, order or inventory entry, for `ifMatch`.
 * Throws TypeError for anything else, a copy of such an answer included: a write must not lose its condition unseen.
 */
export function etagOf(answer: object): string {
  const etag = etags.get(answer);
  if (etag === undefined) throw new TypeError('no entity tag came with this: it must be an answer itself, not a copy');
  return etag;
}
