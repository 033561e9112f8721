/** How much memory one host can make Envoy use, and that Envoy releases it. */
import type { TestFn } from 'ava';
import { breaches, ON_A_BUSY_MACHINE } from '../support/hostile/bounds.ts';
import { AS_DEPLOYED, measureAttack } from '../support/hostile/experiment.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import { unreadPages, unreadRefusals } from '../support/hostile/unread-pages.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.after.always((t) => t.context.close());

test.serial('Memory - unread pages cost Envoy little memory, and it releases all of it', async (t) => {
  const report = await measureAttack(t.context, unreadPages, {
    size: unreadPages.short,
    holdMs: 3_000,
    recoveryMs: 60_000,
    from: ['127.0.0.2'],
  });
  t.deepEqual(breaches(report, { ...ON_A_BUSY_MACHINE, maxGrowthBytes: 100 * MIB, mustRecover: true }), []);
});

// While it lasts, Envoy closes connections that send requests, whoever's they are.
test.serial(
  'Memory - a flood of unread refusals takes no more than its bound, and all are served after it',
  async (t) => {
    const report = await measureAttack(t.context, unreadRefusals, {
      size: unreadRefusals.short,
      holdMs: 3_000,
      recoveryMs: 20_000,
      from: ['127.0.0.2'],
    });
    t.deepEqual(breaches(report, { ...ON_A_BUSY_MACHINE, maxShedShare: 1, mayClose: true }), []);
  },
);
