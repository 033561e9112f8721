/** The entity tags of responses, kept apart from them: a message has only the fields of its proto file. */
import type { Metadata } from '@grpc/grpc-js';

const etags = new WeakMap<object, string>();

export function keepEtag(response: object, metadata: Metadata | undefined): void {
  const [etag] = metadata?.get('etag') ?? [];
  if (typeof etag === 'string') etags.set(response, etag);
}

/**
 * The entity tag of a response that is one resource, for `ifMatch`. Throws TypeError for
 * anything else, also for a copy of a response: a write must not lose its condition unnoticed.
 */
export function etagOf(response: object): string {
  const etag = etags.get(response);
  if (etag === undefined)
    throw new TypeError('no entity tag came with this: it must be the response itself, not a copy');
  return etag;
}
