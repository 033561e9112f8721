/** Responses that meet a deadline, or their maximum age, while they are being sent: the server process goes on. */
import type { ExecutionContext, TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import { leftOpen } from '../support/hostile/probe.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { endedBy, largestLists, storeLargestList, type Unread } from '../support/hostile/unread.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ ...AS_DEPLOYED, STREAM_SECONDS: '5' });
  await storeLargestList(t.context);
});
test.after.always((t) => t.context.close());

async function survives(t: ExecutionContext<TestStack>, unread: Unread, waitMs: number): Promise<void> {
  const { stack, rest } = t.context;
  // After the end of a server the launcher starts another one.
  await until(async () => (await rest.get('/pets').catch(() => undefined))?.status === 200, 'the service');
  const { pid } = stack.servers[0]?.process ?? {};
  const { ended, of } = await endedBy(t.context, unread, waitMs);
  t.is(ended, of, 'all have ended by themselves');
  t.is(await leftOpen(t.context), undefined);
  t.is((await rest.get('/pets').catch(() => undefined))?.status, 200);
  t.deepEqual(
    [stack.servers[0]?.process.pid, stack.servers[0]?.isRunning],
    [pid, true],
    'the server process has ended',
  );
}

for (const protocol of ['Connect', 'gRPC', 'gRPC-Web', 'REST'] as const) {
  test.serial(`Survival - a list over ${protocol} that is never read ends, and not the server`, async (t) => {
    await survives(t, largestLists(t.context.key)[protocol], 40_000);
  });
}

test.serial('Survival - a page that is read slowly ends at its maximum age, and not the server', async (t) => {
  const headers = { ':path': '/docs/swagger-ui-bundle.js' };
  await survives(t, { headers, bytesPerSecond: 20_000 }, 30_000);
});
