/** CORS_ORIGINS: no origin is allowed by default, and bad values are refused. */
import anyTest, { type TestFn } from 'ava';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn;

function corsHeaders(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-') || name === 'vary');
}

async function withStack(settings: Readonly<Record<string, string>>, check: (stack: TestStack) => Promise<void>) {
  const stack = await startTestStack(settings);
  await check(stack).finally(() => stack.close());
}

const PREFLIGHT = { origin: 'https://shop.example', 'access-control-request-method': 'GET' };

test('CORS_ORIGINS - allows no other origin by default', (t) =>
  withStack({}, async ({ rest }) => {
    const preflight = await fetch(`${rest.url}/pets`, { method: 'OPTIONS', headers: PREFLIGHT });
    t.is(preflight.status, 401);
    t.deepEqual(corsHeaders(preflight.headers), []);
    t.deepEqual(corsHeaders((await rest.get('/pets', { headers: PREFLIGHT })).headers), []);
  }));

test('CORS_ORIGINS - * allows every origin', (t) =>
  withStack({ CORS_ORIGINS: '*' }, async ({ rest }) => {
    for (const origin of ['https://shop.example', 'http://127.0.0.1:1234', 'null']) {
      const preflight = await fetch(`${rest.url}/pets`, { method: 'OPTIONS', headers: { ...PREFLIGHT, origin } });
      t.is(preflight.status, 200);
      t.is(preflight.headers.get('access-control-allow-origin'), origin);
      const response = await rest.get('/pets', { headers: { origin } });
      t.is(response.headers.get('access-control-allow-origin'), origin);
      t.is(response.headers.get('access-control-allow-credentials'), null);
    }
  }));

test('CORS_ORIGINS - accepts only * or origins as browsers send them', (t) => {
  const read = (text: string) => readConfig({ CORS_ORIGINS: text }).corsOrigins;
  t.deepEqual(readConfig({}).corsOrigins, []);
  t.deepEqual(read('*'), ['*']);
  t.deepEqual(read('https://shop.example, http://localhost:3000,https://shop.example'), [
    'https://shop.example',
    'http://localhost:3000',
  ]);
  t.deepEqual(read('https://[::1]:8443'), ['https://[::1]:8443']);
  for (const bad of [
    'shop.example',
    'https://shop.example/',
    'https://shop.example/shop',
    'https://SHOP.example',
    'https://shop.example:443',
    'https://user@shop.example',
    'https://*.shop.example',
    "https://shop'.example",
    'ftp://shop.example',
    'null',
    '*,https://shop.example',
    'https://shop.example,',
  ]) {
    const what = 'be origins such as https://shop.example, with commas between several, or *';
    const message = `CORS_ORIGINS must ${what}, not ${JSON.stringify(bad)}`;
    t.throws(() => read(bad), { instanceOf: ConfigError, message }, bad);
  }
});
