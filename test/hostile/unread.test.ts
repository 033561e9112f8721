/** Responses that a caller with a valid key does not read: they end by themselves, and delay no other caller. */
import type { TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import { exchange } from '../support/hostile/http2.ts';
import { leftOpen } from '../support/hostile/probe.ts';
import { callRequest, type Http2Request, restRequest, storeLargestList } from '../support/hostile/requests.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { openSession, targetOf } from '../support/hostile/sockets.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ ...AS_DEPLOYED, STREAM_SECONDS: '5' });
  await storeLargestList(t.context);
});
test.after.always((t) => t.context.close());

/** Five times the same request, of which `slice` bytes are read every 50 ms. Resolves with how they have ended. */
async function endsOf({ publicAddress, key }: TestStack, request: Http2Request, slice: number): Promise<string[]> {
  const { method, path, headers, body } = request;
  const window = { initialWindowSize: slice === 0 ? 0 : 16_384 };
  const session = await openSession(targetOf(publicAddress, '127.0.0.9'), 0, window);
  const own = { ':method': method, ':path': path, ...headers, authorization: `Bearer ${key}` };
  const sending = { body: body === undefined ? undefined : Buffer.from(body, 'latin1'), giveUpMs: 40_000, slice };
  const all = await Promise.all(Array.from({ length: 5 }, () => exchange(session, own, sending)));
  session.destroy();
  return all.map(({ outcome }) => outcome);
}

test.serial('Unread responses - of each protocol, or read slowly, they end, and not the server', async (t) => {
  const { stack, rest } = t.context;
  const { pid } = stack.servers[0]?.process ?? {};
  const calls = (['gRPC', 'gRPC-Web', 'Connect'] as const).map((one) => callRequest(one, 'largest', 1_000));
  const lists = [restRequest('largest'), ...calls];
  await Promise.all(
    [...lists, restRequest('page')].map(async (request, index) => {
      const ends = await endsOf(t.context, request, index < lists.length ? 0 : 1_000);
      t.false(ends.includes('left'), `${request.protocol} ${request.path}: ${ends}`);
    }),
  );
  t.is(await leftOpen(t.context), undefined);
  t.is((await rest.get('/pets')).status, 200);
  t.deepEqual([stack.servers[0]?.process.pid, stack.servers[0]?.isRunning], [pid, true]);
});

const CONNECTIONS = 4;
const PER_CONNECTION = 100;
/** A caller that waits for an unread response waits for its reset after 10 s. */
const SOON_MS = 5_000;

test.serial(
  'Unread responses - the largest pages, requested 400 times and never read, delay no other caller',
  async (t) => {
    const { rest, key, publicAddress } = t.context;
    const statuses: unknown[] = [];
    for (let i = 0; i < CONNECTIONS; i += 1) {
      const session = await openSession(targetOf(publicAddress, '127.0.0.9'), i, { initialWindowSize: 0 });
      t.teardown(() => session.destroy());
      for (let j = 0; j < PER_CONNECTION; j += 1) {
        const stream = session.request({ ':path': '/categories?limit=100', authorization: `Bearer ${key}` });
        stream.on('response', (headers) => statuses.push(headers[':status'])).on('error', () => undefined);
      }
    }
    await until(() => statuses.length > (CONNECTIONS * PER_CONNECTION) / 2, 'the headers of most responses');
    t.deepEqual([...new Set(statuses)], [200]);
    const waits: number[] = [];
    for (let i = 1; i <= 20; i += 1) {
      const startMs = performance.now();
      t.is((await rest.get(`/categories/${i}`)).status, 200);
      waits.push(performance.now() - startMs);
    }
    t.true(Math.max(...waits) < SOON_MS, `${waits.map(Math.round)} ms`);
  },
);
