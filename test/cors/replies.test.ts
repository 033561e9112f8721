/** A reply of Envoy that passes none of its filters, to pages of other origins. */
import { fileURLToPath } from 'node:url';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

const MUTE_SERVER = fileURLToPath(new URL('../support/mute-server.ts', import.meta.url));
const OURS = 'https://shop.example';
const CALLERS = [
  [OURS, OURS],
  ['https://other.example', null],
  [undefined, null],
] as const;

test.before(async (t) => {
  t.context = await startTestStack({ CORS_ORIGINS: `http://localhost:3000,${OURS}` }, { program: MUTE_SERVER });
});
test.after.always((t) => t.context.close());

test('503 - of a server that dies during a response can be read by pages of allowed origins only', async (t) => {
  for (const [origin, expected] of CALLERS) {
    const headers = origin === undefined ? {} : { origin };
    const answer = await t.context.rest.get('/store/inventory', { headers });
    t.is(answer.status, 503);
    t.is(answer.headers.get('access-control-allow-origin'), expected);
  }
});
