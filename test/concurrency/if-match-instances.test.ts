import { testUnless } from '../support/programs.ts';
import { type Shared, sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { raceTests } from './if-match-races.ts';

const test = testUnless<TestStack>(sharedMissing);
let shared: Shared;

test.before(async (t) => {
  shared = await startShared();
  t.context = await startTestStack({ ...(await shared.settings()), INSTANCES: '2' });
});
test.after.always(async (t) => {
  await t.context.close();
  await shared.close();
});

raceTests(test, 'over two servers on PostgreSQL');
