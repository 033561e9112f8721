/** CORS_ORIGINS: which origins it allows, also in responses that pass none of Envoy's filters; bad values. */
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { startTestStack } from '../support/stack.ts';

/** It serves /healthz, and disconnects during its response to /store/inventory. */
const MUTE_SERVER = fileURLToPath(new URL('../support/mute-server.ts', import.meta.url));
const SHOP = 'https://shop.example';

for (const [title, setting, origins] of [
  ['allows no other origin by default', {}, [[SHOP, null]]],
  [
    'the listed origins are allowed, and no others',
    { CORS_ORIGINS: `http://localhost:3000,${SHOP}` },
    [
      [SHOP, SHOP],
      ['https://other.example', null],
      [undefined, null],
    ],
  ],
  [
    '* allows every origin',
    { CORS_ORIGINS: '*' },
    [
      [SHOP, SHOP],
      ['http://127.0.0.1:1234', 'http://127.0.0.1:1234'],
      ['null', 'null'],
    ],
  ],
] as const) {
  test(`CORS_ORIGINS - ${title}`, async (t) => {
    const { rest, close } = await startTestStack({ ...setting }, { program: MUTE_SERVER });
    t.teardown(close);
    for (const [origin, expected] of origins) {
      const from: Record<string, string> = origin === undefined ? {} : { origin };
      for (const [method, path, headers] of [
        ['GET', '/healthz', from],
        ['OPTIONS', '/healthz', { ...from, 'access-control-request-method': 'GET' }],
        ['GET', '/store/inventory', from],
      ] as const) {
        const response = await fetch(rest.url + path, { method, headers });
        t.is(response.status, path === '/healthz' ? 200 : 503);
        t.is(response.headers.get('access-control-allow-origin'), expected, `${method} ${path}`);
        t.is(response.headers.get('access-control-allow-credentials'), null);
      }
    }
  });
}

test('CORS_ORIGINS - accepts only * or origins as browsers send them', (t) => {
  const read = (text: string) => readConfig({ CORS_ORIGINS: text }).corsOrigins;
  t.deepEqual(readConfig({}).corsOrigins, []);
  t.deepEqual(read('*'), ['*']);
  t.deepEqual(read(`${SHOP}, http://localhost:3000,${SHOP}`), [SHOP, 'http://localhost:3000']);
  t.deepEqual(read('https://[::1]:8443'), ['https://[::1]:8443']);
  for (const bad of [
    ...['shop.example', 'https://shop.example/', 'https://shop.example/shop', 'https://SHOP.example', 'null'],
    ...['https://shop.example:443', 'https://user@shop.example', 'https://*.shop.example', "https://shop'.example"],
    ...['ftp://shop.example', '*,https://shop.example', 'https://shop.example,'],
  ]) {
    const what = 'be origins such as https://shop.example, with commas between several, or *';
    const message = `CORS_ORIGINS must ${what}, not ${JSON.stringify(bad)}`;
    t.throws(() => read(bad), { instanceOf: ConfigError, message }, bad);
  }
});
