/** Checks the If-Match condition of a write: the stored resource is still the one that the caller has read. */
import { apiError } from '../errors.ts';
import { entityTag, matchesStrongly } from './entity-tags.ts';
import type { Context } from './methods.ts';

type Encoding<T> = { encode(message: T): { finish(): Uint8Array } };

/**
 * Throws PRECONDITION_FAILED unless If-Match names the stored representation. Call it in the write's transaction after
 * the row is locked, so that of two callers who have read the same version the second one fails.
 */
export function checkIfMatch<T>({ ifMatch }: Context, type: Encoding<T>, stored: T): void {
  if (ifMatch === undefined) return;
  const etag = entityTag(type.encode(stored).finish());
  if (!matchesStrongly(ifMatch, etag)) throw apiError('PRECONDITION_FAILED', { etag });
}
