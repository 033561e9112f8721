// REST by openapi-typescript with openapi-fetch.
import createClient from 'openapi-fetch';
import type { paths } from './client.js';

const headers = { authorization: `Bearer ${process.env.API_KEY}` };
const shop = createClient<paths>({ baseUrl: process.env.API ?? '', headers });
const cats = await shop.POST('/categories', { body: { name: 'Cats' } });
await shop.POST('/categories', { body: { name: 'Dogs' } });
const page = await shop.GET('/categories', { params: { query: { limit: 1 } } });
const [, path = ''] = /<(.+)>; rel="next"/.exec(page.response.headers.get('link') ?? '') ?? [];
const pageToken = new URL(path, process.env.API).searchParams.get('pageToken') ?? '';
const second = await shop.GET('/categories', { params: { query: { limit: 1, pageToken } } });
const refused = await shop.POST('/categories', { body: { name: '' } });
const events = await shop.GET('/events', { params: { query: { types: ['category.created'] } } });
const isNext = (page.data?.[0]?.id ?? 0) < (second.data?.[0]?.id ?? 0);
console.log(cats.data?.name, isNext, refused.error?.code, events.data?.[0]?.type);
