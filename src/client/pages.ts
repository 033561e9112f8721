/** Reads a list to its end. */
import type { CallOptions } from './methods.ts';

type List<Request, Page> = (request: Request, options?: CallOptions) => Promise<Page>;

/**
 * All pages of a list method, one call each: `for await (const { pets } of pages(client.pets.listPets, { limit: 100 }))`.
 * A row that is there from start to finish is seen exactly once. The options hold for each call.
 */
export async function* pages<Request extends { pageToken?: string }, Page extends { nextPageToken: string }>(
  list: List<Request, Page>,
  request: Request,
  options?: CallOptions,
): AsyncGenerator<Page, void, undefined> {
  let next = request;
  for (;;) {
    const page = await list(next, options);
    yield page;
    if (page.nextPageToken === '') return;
    next = { ...request, pageToken: page.nextPageToken };
  }
}
