import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { MAX_WAIT_MS, READINESS_SERVICE, Readiness } from '../../src/edge/readiness.ts';
import { until } from '../support/until.ts';

const EDGE = { isFromEdge: true, peer: '10.0.0.1:1' };

/** Drains, and resolves with how long that took. */
async function drain(readiness: Readiness): Promise<number> {
  const beganMs = performance.now();
  await readiness.startDraining();
  return performance.now() - beganMs;
}

test('Readiness - without an edge nobody is waited for, whoever else asks for health', async (t) => {
  const readiness = new Readiness();
  readiness.recordCheck(READINESS_SERVICE, { isFromEdge: false, peer: '10.0.0.9:1' });
  readiness.recordCheck('', EDGE);
  t.true((await drain(readiness)) < MAX_WAIT_MS);
});

test('Readiness - each edge has to check four times since draining began', async (t) => {
  const readiness = new Readiness();
  const peers = ['10.0.0.1:1', '10.0.0.2:1'];
  const check = () => {
    for (const peer of peers) readiness.recordCheck(READINESS_SERVICE, { ...EDGE, peer });
  };
  for (let checks = 0; checks < 10; checks += 1) check();
  let isDrained = false;
  void drain(readiness).then(() => {
    isDrained = true;
  });
  for (let checks = 0; checks < 3; checks += 1) check();
  readiness.recordCheck(READINESS_SERVICE, EDGE);
  await delay(300);
  t.false(isDrained, 'the second edge may still send calls');
  check();
  await until(() => isDrained, 'the end of the wait');
});

test.serial('Readiness - an edge that has not checked for five seconds is gone', async (t) => {
  const readiness = new Readiness();
  readiness.recordCheck(READINESS_SERVICE, EDGE);
  const now = performance.now.bind(performance);
  t.teardown(() => Object.assign(performance, { now }));
  performance.now = () => now() + 5_100;
  t.true((await drain(readiness)) < MAX_WAIT_MS);
});
