export default {
  input: process.env.DOCUMENT,
  output: { path: 'client', importFileExtension: '.js' },
  plugins: ['@hey-api/client-fetch', 'zod', { name: '@hey-api/sdk', validator: true }],
};
