/** Connections that are opened and left idle. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestFn } from 'ava';
import { breaches, ON_A_BUSY_MACHINE } from '../support/hostile/bounds.ts';
import { AS_DEPLOYED, measureAttack } from '../support/hostile/experiment.ts';
import { idleConnections } from '../support/hostile/idle-connections.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { openSocket, targetOf } from '../support/hostile/sockets.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.after.always((t) => t.context.close());

test('Connections - one without a complete request is closed within seconds', async (t) => {
  const size = idleConnections.short;
  const report = await measureAttack(t.context, idleConnections, {
    size,
    holdMs: 20_000,
    isOver: ({ total }) => total >= size.connections,
    recoveryMs: 0,
    from: ['127.0.0.2', '127.0.0.4', '127.0.0.5'],
  });
  t.deepEqual(breaches(report, ON_A_BUSY_MACHINE), []);
  t.deepEqual(report.outcomes.counts, { closed: size.connections });
});

test('Connections - one is kept open for the next request, some seconds after a response', async (t) => {
  const socket = openSocket(targetOf(t.context.publicAddress, '127.0.0.6'));
  let responses = 0;
  socket.on('data', (chunk: Buffer) => {
    responses += chunk.toString().split('HTTP/1.1 200 OK').length - 1;
  });
  // The pause is what is tested.
  for (const pauseMs of [4_000, 0]) {
    const before = responses;
    socket.write('GET /docs HTTP/1.1\r\nHost: petstore\r\n\r\n');
    await until(() => responses > before || socket.closed, 'the response');
    await delay(pauseMs);
  }
  t.is(responses, 2);
  socket.destroy();
});
