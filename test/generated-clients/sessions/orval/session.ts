// REST by orval, with its zod schemas.
import { createCategory, listCategories, listEvents } from './client.js';
import { CreateCategoryBody, ListEventsResponse } from './zod.js';

const headers = { authorization: `Bearer ${process.env.API_KEY}` };
const cats = await createCategory(CreateCategoryBody.parse({ name: 'Cats' }), { headers });
await createCategory({ name: 'Dogs' }, { headers });
const page = await listCategories({ limit: 1 }, { headers });
const [, path = ''] = /<(.+)>; rel="next"/.exec(page.headers.get('link') ?? '') ?? [];
const pageToken = new URL(path, process.env.API).searchParams.get('pageToken') ?? '';
const second = await listCategories({ limit: 1, pageToken }, { headers });
const refused = await createCategory({ name: '' }, { headers });
const events = await listEvents({ types: ['category.created'], limit: 1 }, { headers });
if (cats.status !== 201 || page.status !== 200 || second.status !== 200 || refused.status !== 400) throw refused;
const isNext = (page.data[0]?.id ?? 0) < (second.data[0]?.id ?? 0);
console.log(cats.data.name, isNext, refused.data.code, ListEventsResponse.parse(events.data)[0]?.type);
