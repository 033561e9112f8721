import test from 'ava';
import { MAX_WAIT_MS, READINESS_SERVICE, Readiness } from '../../src/platform/rpc/readiness.ts';

const EDGE = { isFromEdge: true };

/** Drains, and resolves with how long that took. */
async function drain(readiness: Readiness): Promise<number> {
  const beganMs = performance.now();
  await readiness.seenByEdges();
  return performance.now() - beganMs;
}

test('Readiness - without an edge nobody is waited for, whoever else asks for health', async (t) => {
  const readiness = new Readiness();
  readiness.recordCheck(READINESS_SERVICE, { isFromEdge: false });
  readiness.recordCheck('', EDGE);
  t.true((await drain(readiness)) < MAX_WAIT_MS);
});

test('Readiness - an edge has five seconds to see that the server drains', async (t) => {
  const readiness = new Readiness();
  readiness.recordCheck(READINESS_SERVICE, EDGE);
  const alive = setTimeout(() => undefined, 2 * MAX_WAIT_MS); // the wait itself keeps no process alive
  t.true((await drain(readiness)) > MAX_WAIT_MS - 100);
  clearTimeout(alive);
});

test.serial('Readiness - an edge that has not checked for five seconds is gone', async (t) => {
  const readiness = new Readiness();
  readiness.recordCheck(READINESS_SERVICE, EDGE);
  const now = performance.now.bind(performance);
  t.teardown(() => Object.assign(performance, { now }));
  performance.now = () => now() + 5_100;
  t.true((await drain(readiness)) < MAX_WAIT_MS);
});
