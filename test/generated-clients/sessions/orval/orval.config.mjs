const input = process.env.DOCUMENT;
export default {
  shop: { input, output: { target: 'client.ts', client: 'fetch', baseUrl: process.env.API } },
  zod: { input, output: { target: 'zod.ts', client: 'zod' } },
};
