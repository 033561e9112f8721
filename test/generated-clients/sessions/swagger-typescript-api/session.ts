/** A session with the client that swagger-typescript-api has generated. */
import { type ErrorBody, type HttpResponse, Shop } from './client/api.ts';

const { API: baseUrl = '', API_KEY } = process.env;
const { categories, events } = new Shop({
  baseUrl,
  baseApiParams: { headers: { Authorization: `Bearer ${API_KEY}` } },
});
const cats = await categories.createCategory({ name: 'Cats' });
await categories.createCategory({ name: 'Dogs' });
const page = await categories.listCategories({ limit: 1 });
const pageToken = /pageToken=([^&>]+)/.exec(page.headers.get('Link') ?? '')?.[1] ?? '';
const second = await categories.listCategories({ limit: 1, pageToken });
const isNext = (page.data[0]?.id ?? 0) < (second.data[0]?.id ?? 0);
const wrong = await categories
  .createCategory({ name: '' })
  .catch((refused: HttpResponse<unknown, ErrorBody>) => refused.error);
const [event] = (await events.listEvents({ types: ['category.created'] })).data;
console.log(cats.data.name, isNext, 'code' in wrong ? wrong.code : '', event?.type);
