/** Bodies of anonymous callers: cheap to send, so they must be cheap to refuse. */
import type { TestFn } from 'ava';
import { generateKey } from '../../src/access/keys/format.ts';
import { HEAVY_BODIES, MAX_RATIO, settledCosts, TRANSPORTS } from '../support/hostile/body-cost.ts';
import { breaches, ON_A_BUSY_MACHINE } from '../support/hostile/bounds.ts';
import { endlessBodies } from '../support/hostile/endless-bodies.ts';
import { AS_DEPLOYED, measureAttack } from '../support/hostile/experiment.ts';
import { halfRequest } from '../support/hostile/half-request.ts';
import { heavyBodies } from '../support/hostile/heavy-bodies.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { openSocket, targetOf } from '../support/hostile/sockets.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { UNLIMITED } from '../support/unlimited.ts';
import { until } from '../support/until.ts';

const test: TestFn<{ limited: TestStack; unlimited: TestStack }> = testUnless(hostileMissing);

test.before(async (t) => {
  const unlimited = await startTestStack({ ...UNLIMITED, LOG_LEVEL: 'info' });
  t.context = { limited: await startTestStack(AS_DEPLOYED), unlimited };
});
test.after.always(async ({ context: { limited, unlimited } }) => {
  await Promise.all([limited.close(), unlimited.close()]);
});

for (const transport of TRANSPORTS) {
  test.serial(`Bodies - over ${transport} a body of an anonymous caller costs at most ${MAX_RATIO} GETs`, async (t) => {
    for (const [name, body] of Object.entries(HEAVY_BODIES)) {
      const measured = { body, transport, withKeys: name === 'many numbers', rounds: 3, perRound: 15 };
      const { ratio, getUs, postUs, statuses } = await settledCosts(t.context.unlimited, measured);
      t.true(
        ratio <= MAX_RATIO,
        `${name}: ${postUs.toFixed()} µs beside ${getUs.toFixed()} µs, ${ratio.toFixed(1)} times`,
      );
      t.deepEqual(Object.keys(statuses), [transport === 'gRPC' ? 'grpc-status 16' : '401'], name);
    }
  });
}

test.serial('Bodies - repeated large bodies of an anonymous caller delay no other caller', async (t) => {
  const report = await measureAttack(t.context.limited, heavyBodies, {
    size: heavyBodies.short,
    holdMs: 3_000,
    recoveryMs: 0,
    from: ['127.0.0.4'],
  });
  t.deepEqual(breaches(report, ON_A_BUSY_MACHINE), []);
  t.deepEqual(Object.keys(report.outcomes.counts), ['401', '429']);
});

test.serial('Bodies - endless bodies are refused by their headers, without waiting for their end', async (t) => {
  const size = endlessBodies.short;
  const report = await measureAttack(t.context.limited, endlessBodies, {
    size,
    holdMs: 8_000,
    isOver: ({ total }) => total >= size.connections,
    recoveryMs: 0,
    from: ['127.0.0.2'],
  });
  t.deepEqual(breaches(report, ON_A_BUSY_MACHINE), []);
  const { counts, p99Ms } = report.outcomes;
  const { 401: refused = 0, 429: limited = 0, ...others } = counts;
  t.deepEqual(others, {});
  t.is(refused + limited, size.connections);
  for (const [status, ms] of Object.entries(p99Ms)) t.true(ms < 10_000, `${status} took ${ms} ms`);
});

const HEAD = 'POST /pets HTTP/1.1\r\nHost: petstore\r\nContent-Type: application/json\r\n';
const WAITING = {
  'of 64 KiB': 'Content-Length: 65536\r\n\r\n',
  'of 1 MiB': 'Content-Length: 1048576\r\n\r\n',
  'in chunks': 'Transfer-Encoding: chunked\r\n\r\n',
  'with its first bytes': 'Content-Length: 65536\r\n\r\n{"name":',
  'with Expect: 100-continue': 'Content-Length: 65536\r\nExpect: 100-continue\r\n\r\n',
};

for (const [title, rest] of Object.entries(WAITING)) {
  test(`Bodies - an anonymous caller gets a 401 for an unfinished body ${title}`, async (t) => {
    for (const authorization of ['', `Authorization: Bearer ${generateKey()}\r\n`, 'Authorization: Bearer x\r\n']) {
      const socket = openSocket(targetOf(t.context.unlimited.publicAddress, '127.0.0.7'));
      let response = '';
      socket.on('data', (chunk: Buffer) => {
        response += chunk;
      });
      socket.write(HEAD + authorization + rest);
      const last = () => response.replace('HTTP/1.1 100 Continue\r\n\r\n', '');
      await until(() => last().includes('\r\n\r\n') || socket.closed, 'the response', 5_000);
      t.regex(last(), /^HTTP\/1\.1 401 /);
      socket.destroy();
    }
  });
}

test('Bodies - an anonymous caller gets a 401 for an unfinished body over HTTP/2', async (t) => {
  const target = targetOf(t.context.unlimited.publicAddress, '127.0.0.7');
  for (const authorization of [{}, { authorization: `Bearer ${generateKey()}` }]) {
    for (const length of [{}, { 'content-length': 65_536 }, { 'content-length': 1_048_576 }]) {
      const startedAtMs = performance.now();
      const headers = { ...authorization, ...length, 'content-type': 'application/json' };
      t.is((await halfRequest(target, headers, '{"name":')).status, 401);
      t.true(performance.now() - startedAtMs < 10_000);
    }
  }
});
