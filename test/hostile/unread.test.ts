/** Responses that a caller with a valid key does not read delay no other caller. */
import { once } from 'node:events';
import { openSession, targetOf } from '../support/calls/sockets.ts';
import { until } from '../support/until.ts';
import { AS_DEPLOYED, hostileTest, storeLargestList } from './campaign/service.ts';

const test = hostileTest(AS_DEPLOYED);

test.serial.before(async (t) => {
  await storeLargestList(t.context);
});

const CONNECTIONS = 4;
const PER_CONNECTION = 100;
/** A caller that waits for an unread response waits for its reset after 10 s. */
const SOON_MS = 5_000;

test.serial('Unread responses - 400 of the largest pages, which are never read, delay no other caller', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const statuses: unknown[] = [];
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const session = await openSession(targetOf(publicAddress, '127.0.0.9'), i, { initialWindowSize: 0 });
    t.teardown(() => session.destroy());
    // From now on this connection's worker of Envoy knows the key: a burst with an unknown one would be refused.
    await once(session.request({ ':method': 'HEAD', ':path': '/pets', authorization: `Bearer ${key}` }), 'response');
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
});
