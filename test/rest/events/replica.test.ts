import anyTest, { type TestFn } from 'ava';
import { isReplicated } from '../../support/followers.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack({ EVENT_STREAMS: '100' });
});
test.after.always((t) => t.context.close());

test('Replica rule - from the first event, or from lists read after a stream began', async (t) => {
  await isReplicated(t, t.context);
});
