/** Responses that a caller with a valid key requests and never reads: they delay no other caller. */
import { type ClientHttp2Session, connect } from 'node:http2';
import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack(UNLIMITED);
});
test.after.always((t) => t.context.close());

const CATEGORIES = 100;
const CONNECTIONS = 4;
const PER_CONNECTION = 100;
/** A caller that waits for an unread response waits for its reset after 10 s. */
const SOON_MS = 5_000;

test('Unread responses - the largest pages, requested 400 times and never read, delay no other caller', async (t) => {
  const { rest, key } = t.context;
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= CATEGORIES; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });

  const sessions: ClientHttp2Session[] = [];
  t.teardown(() => {
    for (const session of sessions) session.destroy();
  });
  let responses = 0;
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const session = connect(rest.url, { settings: { initialWindowSize: 0 } });
    session.on('error', () => undefined);
    sessions.push(session);
    for (let j = 0; j < PER_CONNECTION; j += 1) {
      const stream = session.request({ ':path': `/categories?limit=${CATEGORIES}`, authorization: `Bearer ${key}` });
      stream.on('error', () => undefined);
      stream.on('response', () => {
        responses += 1;
      });
    }
  }
  await until(() => responses > (CONNECTIONS * PER_CONNECTION) / 2, 'the headers of most responses');
  const waits: number[] = [];
  for (let i = 1; i <= 20; i += 1) {
    const startMs = performance.now();
    t.is((await rest.get(`/categories/${i}`)).status, 200);
    waits.push(performance.now() - startMs);
  }
  t.true(Math.max(...waits) < SOON_MS, `${waits.map(Math.round)} ms`);
});
