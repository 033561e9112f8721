/**
 * Page tokens, which are opaque to callers. A token encodes the number of the list and the last id of the page as
 * base64url, so that a token of another list is refused.
 */
import { invalidArgument } from '../errors.ts';
import type { Page, PageRequest } from '../storage/model.ts';

export const DEFAULT_LIMIT = 20;

const LENGTH = 9; // one byte for the list, eight for the id

interface ListRequest {
  readonly limit?: number | undefined;
  readonly pageToken: string;
}

/**
 * The tokens of the list with this number, from 1 to 255. Callers hold tokens, so a list keeps its number for good, and
 * no other list gets it: test/rest/paging.test.ts has all of them.
 */
export function pageTokens(list: number) {
  function decode(text: string): bigint {
    const token = Buffer.from(text, 'base64url');
    const isWellFormed = token.length === LENGTH && token.toString('base64url') === text;
    if (!isWellFormed || token.readUInt8(0) !== list) {
      const description = 'is not a page token of this list: use the one that the page before gave';
      throw invalidArgument([{ path: 'page_token', name: 'pageToken', description }]);
    }
    return token.readBigInt64BE(1);
  }

  return {
    /** Converts a list request to a page request. @throws ApiError for an invalid token. */
    toPageRequest({ pageToken, limit = DEFAULT_LIMIT }: ListRequest): PageRequest {
      return { after: pageToken === '' ? 0n : decode(pageToken), limit };
    },

    /** Returns the token of the next page; empty on the last page. */
    next<T>(page: Page<T>, idOf: (row: T) => bigint): string {
      const last = page.rows.at(-1);
      if (last === undefined || !page.hasMore) return '';
      const token = Buffer.alloc(LENGTH);
      token.writeUInt8(list, 0);
      token.writeBigInt64BE(idOf(last), 1);
      return token.toString('base64url');
    },
  };
}
