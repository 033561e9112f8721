/** More callers than the machine can serve: served requests are fast, the others are shed at once. */
import type { TestFn } from 'ava';
import { breaches, CALM_MS, healthLies } from '../support/hostile/bounds.ts';
import { crowd } from '../support/hostile/crowd.ts';
import { AS_DEPLOYED, measureAttack } from '../support/hostile/experiment.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.after.always((t) => t.context.close());

test('Crowd - a request that is not served is a 503 with Retry-After, and health is right', async (t) => {
  const report = await measureAttack(t.context, crowd, {
    size: crowd.short,
    holdMs: 6_000,
    recoveryMs: 0,
    afterMs: CALM_MS + 1_000,
    from: ['127.0.1.1'],
  });
  t.deepEqual(breaches(report, { maxShedShare: 1 }), []);
  t.deepEqual(healthLies(report), []);
  const { counts } = report.outcomes;
  const { 200: served = 0, 503: shed, ...others } = counts;
  t.deepEqual(others, {}, 'every response is 200, or 503 with Retry-After');
  t.true(served > 100, `${served} were served, ${shed} were shed`);
});
