/** The condition of a write: that what is stored is still what the caller has read. */

import { apiError } from '../errors.ts';
import { entityTag, matchesStrongly } from './entity-tags.ts';
import type { Context } from './service.ts';

/** A generated message type, as far as it is needed here. */
interface MessageType<T> {
  encode(message: T): { finish(): Uint8Array };
}

/**
 * Throws PRECONDITION_FAILED unless the representation of what is stored is one that the caller asks for. It is to be
 * called in the write's transaction, once the row is locked: then of two who read the same one is second, and is told.
 */
export function checkIfMatch<T>({ ifMatch }: Context, type: MessageType<T>, stored: T): void {
  if (ifMatch === undefined) return;
  const etag = entityTag(type.encode(stored).finish());
  if (!matchesStrongly(ifMatch, etag)) throw apiError('PRECONDITION_FAILED', { etag });
}
