/**
 * Page tokens, which are opaque to callers. A token encodes the kind of the list and the last id of the page as
 * base64url, so that a token of another list is refused.
 */
import { invalidArgument } from '../errors.ts';
import type { Page, PageRequest } from '../storage/model.ts';

export const DEFAULT_LIMIT = 20;

const LISTS = ['pets', 'categories', 'orders', 'inventory', 'accounts', 'keys', 'bans'] as const;
type List = (typeof LISTS)[number];

const LENGTH = 9; // one byte of kind, eight of id

/** Converts a list request to a page request. @throws ApiError for an invalid token. */
export function toPageRequest(
  list: List,
  request: { readonly limit?: number | undefined; readonly pageToken: string },
): PageRequest {
  return {
    after: request.pageToken === '' ? 0n : decode(list, request.pageToken),
    limit: request.limit ?? DEFAULT_LIMIT,
  };
}

/** Returns the token of the next page; empty on the last page. */
export function nextPageToken<T>(list: List, page: Page<T>, idOf: (row: T) => bigint): string {
  const last = page.rows.at(-1);
  if (last === undefined || !page.hasMore) return '';
  const token = Buffer.alloc(LENGTH);
  token.writeUInt8(LISTS.indexOf(list) + 1, 0);
  token.writeBigInt64BE(idOf(last), 1);
  return token.toString('base64url');
}

function decode(list: List, text: string): bigint {
  const token = Buffer.from(text, 'base64url');
  const isWellFormed = token.length === LENGTH && token.toString('base64url') === text;
  if (!isWellFormed || token.readUInt8(0) !== LISTS.indexOf(list) + 1) {
    const description = 'is not a page token of this list: use the one that the page before gave';
    throw invalidArgument([{ path: 'pageToken', name: 'pageToken', description }]);
  }
  return token.readBigInt64BE(1);
}
