/** CORS headers of a response that Envoy generates and that passes none of its filters. */
import { fileURLToPath } from 'node:url';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

const MUTE_SERVER = fileURLToPath(new URL('../support/mute-server.ts', import.meta.url));
const ALLOWED_ORIGIN = 'https://shop.example';
const CASES = [
  [ALLOWED_ORIGIN, ALLOWED_ORIGIN],
  ['https://other.example', null],
  [undefined, null],
] as const;

test.before(async (t) => {
  t.context = await startTestStack(
    { CORS_ORIGINS: `http://localhost:3000,${ALLOWED_ORIGIN}` },
    { program: MUTE_SERVER },
  );
});
test.after.always((t) => t.context.close());

test('Server death during a response - only pages of allowed origins can read the 503', async (t) => {
  for (const [origin, expected] of CASES) {
    const headers = origin === undefined ? {} : { origin };
    const response = await t.context.rest.get('/store/inventory', { headers });
    t.is(response.status, 503);
    t.is(response.headers.get('access-control-allow-origin'), expected);
  }
});
