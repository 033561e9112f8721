/** Responses that a caller with a valid key does not read: they end by themselves, and delay no other caller. */
import type { TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import { FrameSession } from '../support/hostile/frames.ts';
import { leftOpen } from '../support/hostile/probe.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { targetOf } from '../support/hostile/sockets.ts';
import { endedBy, largestLists, storeLargestList, type Unread } from '../support/hostile/unread.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ ...AS_DEPLOYED, STREAM_SECONDS: '5' });
  await storeLargestList(t.context);
});
test.after.always((t) => t.context.close());

test.serial('Unread responses - of each protocol, or read slowly, they end, and not the server', async (t) => {
  const { stack, rest, key } = t.context;
  const { pid } = stack.servers[0]?.process ?? {};
  const slow: Unread = { headers: { ':path': '/docs/swagger-ui-bundle.js' }, bytesPerSecond: 20_000 };
  const all = Object.entries({ ...largestLists(key), 'a page that is read slowly': slow });
  await Promise.all(
    all.map(async ([name, unread]) => t.true(await endedBy(t.context, unread, 40_000), `${name}: all have ended`)),
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
    const fields = { ':method': 'GET', ':scheme': 'http', ':authority': 'petstore', authorization: `Bearer ${key}` };
    for (let i = 0; i < CONNECTIONS; i += 1) {
      const session = await FrameSession.open(targetOf(publicAddress, '127.0.0.9'), i, 0);
      t.teardown(() => session?.destroy());
      for (let j = 0; j < PER_CONNECTION; j += 1) {
        session?.request({ ...fields, ':path': '/categories?limit=100' }, { endStream: true });
      }
    }
    const waits: number[] = [];
    for (let i = 1; i <= 20; i += 1) {
      const startMs = performance.now();
      t.is((await rest.get(`/categories/${i}`)).status, 200);
      waits.push(performance.now() - startMs);
    }
    t.true(Math.max(...waits) < SOON_MS, `${waits.map(Math.round)} ms`);
  },
);
