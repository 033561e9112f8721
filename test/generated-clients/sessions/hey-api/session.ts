// REST by hey-api, whose zod schemas check each request and response.
import { client } from './client/client.gen.js';
import { createCategory, listCategories, listEvents } from './client/sdk.gen.js';

client.setConfig({ baseUrl: process.env.API ?? '', auth: () => process.env.API_KEY });
const cats = await createCategory({ body: { name: 'Cats' } });
await createCategory({ body: { name: '\u00a0D\u00f6gs \u{1f436}\u2003' } });
const page = await listCategories({ query: { limit: 1 } });
const [, path = ''] = /<(.+)>; rel="next"/.exec(page.response?.headers.get('link') ?? '') ?? [];
const pageToken = new URL(path, process.env.API).searchParams.get('pageToken') ?? '';
const second = await listCategories({ query: { limit: 1, pageToken } });
// What the schema can't know.
const headers = { 'Idempotency-Key': crypto.randomUUID() };
await createCategory({ body: { name: 'Birds' }, headers });
const refused = await createCategory({ body: { name: 'Fish' }, headers });
const events = await listEvents({ query: { types: ['category.created'], limit: 1 } });
const isNext = (page.data?.[0]?.id ?? 0) < (second.data?.[0]?.id ?? 0);
console.log(cats.data?.name, isNext, (refused.error as { code?: string }).code, events.data?.[0]?.type);
