/** What callers send is not kept. */
import type { TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import { keptOfHealthNames, keptOfPaddedKeys } from '../support/hostile/kept.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.after.always((t) => t.context.close());

test.serial('Kept - names of 60 KB in 600 health watches leave nothing at the server', async (t) => {
  const bytes = await keptOfHealthNames(t.context, { count: 600 });
  t.true(bytes < 5 * MIB, `${bytes} bytes are kept`);
});

test.serial('Kept - 1,500 spellings of one key with 20,000 spaces leave nothing in Envoy', async (t) => {
  const maxBytes = 12 * MIB;
  const bytes = await keptOfPaddedKeys(t.context, { count: 1_500 }, maxBytes);
  t.true(bytes <= maxBytes, `${bytes} bytes are kept`);
});
