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

/** The rows of each page from `path` to the last. */
export async function walk<T>(rest: RestClient, path: string): Promise<T[][]> {
  const pages: T[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { status, headers, text, body } = await rest.get(next);
    if (status !== 200) throw new Error(`GET ${next} answered ${status}: ${text}`);
    pages.push(body);
    next = nextOf(headers);
  }
  return pages;
}

export async function readAll<T>(rest: RestClient, path: string): Promise<T[]> {
  return (await walk<T>(rest, `${path}?limit=100`)).flat();
}
