import { createClient, PetstoreError } from 'petstore-client';

const { API = '', API_KEY = '' } = process.env;
const client = createClient({ address: API, apiKey: API_KEY });

const cats = await client.categories.createCategory({ category: { name: 'Cats' } });
console.log(cats.id, cats.name);

try {
  await client.categories.createCategory({ category: { name: '' } });
} catch (error) {
  if (!(error instanceof PetstoreError)) throw error;
  console.log(error.code); // INVALID_ARGUMENT
  for (const { field, description } of error.violations) console.log(field, description);
}

await client.close();
