/** Reads all pages of a list. */
import type { CallOptions } from './methods.ts';

type List<Request, Page> = (request: Request, options?: CallOptions) => Promise<Page>;

/**
 * All pages of a list method, one call each: `for await (const { orders } of pages(client.orders.listOrders, {
 * limit: 100 }))`. A row that exists throughout is returned exactly once. The options apply to each call.
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
