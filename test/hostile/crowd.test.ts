/** More callers than the machine can serve: responses come soon, and the other requests are shed at once. */
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

test('Crowd - a caller that is not served gets a 503 with Retry-After, and health is right', async (t) => {
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
  const { 200: answered = 0, 503: shed, ...others } = counts;
  t.deepEqual(others, {}, 'every answer is 200, or 503 with Retry-After');
  t.true(answered > 100, `${answered} were answered, ${shed} were not`);
});
