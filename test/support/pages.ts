/** Walks a list of the REST side by the `Link` of each page. */
import type { RestClient } from './rest-client.ts';

/** The path that `Link: <…>; rel="next"` names; undefined on the last page. */
export function nextOf(headers: Headers): string | undefined {
  const link = headers.get('link');
  if (link === null) return undefined;
  const target = /^<(\/[^<>\s]*)>; rel="next"$/.exec(link)?.[1];
  if (target === undefined) throw new Error(`not a link to a next page: ${link}`);
  return target;
}

/** The page token in a path. */
export function tokenOf(path: string | undefined): string {
  const token = new URLSearchParams(path?.split('?')[1]).get('pageToken');
  if (token === null) throw new Error(`there is no page token in ${path}`);
  return token;
}

/** The rows of each page from `path` to the last. `between` runs after each page, during the next request. */
export async function walk<T>(
  rest: RestClient,
  path: string,
  between: (page: readonly T[]) => Promise<unknown> = async () => undefined,
): Promise<T[][]> {
  const pages: T[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const page = pages.at(-1);
    const [{ status, headers, text, body }] = await Promise.all([rest.get(next), page && between(page)]);
    if (status !== 200) throw new Error(`GET ${next} answered ${status}: ${text}`);
    pages.push(body);
    next = nextOf(headers);
  }
  return pages;
}
