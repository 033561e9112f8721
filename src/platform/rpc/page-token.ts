/** Page tokens, opaque to callers: the number of the list, and the place of the page's last row, as base64url. */
import { invalidArgument } from '../errors.ts';
import { mayBe } from '../tables/ids.ts';
import { BY_ID, isBehind, type Key, type Page, type PageRequest, type SortOrder } from '../tables/sort-order.ts';

export const DEFAULT_LIMIT = 20;

interface ListRequest {
  readonly limit?: number | undefined;
  readonly pageToken: string;
}

/**
 * The tokens of the list with this number, from 1 to 255. Callers hold tokens, so a list keeps its number and its order
 * for good: test/rest/paging.test.ts has all of them.
 */
export function pageTokens(list: number, order: SortOrder = BY_ID) {
  const whole: Pick<PageRequest, 'after' | 'until'> = { after: order.start };
  // One byte for the list, eight for each integer of the key, and then its text.
  const integers = order.types.filter((type) => type !== 'text').length;
  const hasText = integers < order.types.length;

  function encode(key: Key): string {
    const token = Buffer.alloc(1 + 8 * integers);
    token.writeUInt8(list, 0);
    const parts = [key].flat();
    for (const [index, part] of parts.slice(0, integers).entries()) token.writeBigInt64BE(BigInt(part), 1 + 8 * index);
    return Buffer.concat([token, Buffer.from(hasText ? String(parts.at(-1)) : '')]).toString('base64url');
  }

  function decode(text: string): Key {
    const token = Buffer.from(text, 'base64url');
    const end = 1 + 8 * integers;
    if (token.length >= end) {
      const parts = Array.from({ length: integers }, (_, index) => token.readBigInt64BE(1 + 8 * index));
      const key = hasText ? [...parts, token.toString('utf8', end)] : parts;
      // So it is one that `next` has made: of this list, in one spelling, and with an id at its end.
      if (encode(key) === text && (!hasText || mayBe(token.toString('latin1', end)))) return key;
    }
    const description = 'is not a page token of this list: use the one that the page before gave';
    throw invalidArgument([{ path: 'page_token', name: 'pageToken', description }]);
  }

  return {
    /** Converts a list request to a page request within a range. @throws ApiError for an invalid token. */
    toPageRequest({ pageToken, limit = DEFAULT_LIMIT }: ListRequest, { after, until } = whole): PageRequest {
      const last = pageToken === '' ? after : decode(pageToken);
      return { after: isBehind(order, last, after) ? last : after, until, limit };
    },

    /** Returns the token of the next page; empty on the last page. */
    next<T>(page: Page<T>, keyOf: (row: T) => Key): string {
      const last = page.rows.at(-1);
      return last === undefined || !page.hasMore ? '' : encode(keyOf(last));
    },
  };
}
