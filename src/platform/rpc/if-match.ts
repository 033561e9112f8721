/** If-Match: of two callers who change what they have read, the second one fails. */
import { apiError } from '../errors.ts';
import { entityTag, matchesStrongly } from './entity-tags.ts';
import type { Context } from './methods.ts';

type Encoding<T> = { encode(message: T): { finish(): Uint8Array } };

/** Throws PRECONDITION_FAILED unless If-Match names what is stored. Call it in the write, once the row is locked. */
export function checkIfMatch<T>({ ifMatch }: Context, type: Encoding<T>, stored: T): void {
  if (ifMatch === undefined) return;
  const etag = entityTag(type.encode(stored).finish());
  if (!matchesStrongly(ifMatch, etag)) throw apiError('PRECONDITION_FAILED', { etag });
}
