import anyTest, { type TestFn } from 'ava';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { raceTests } from './if-match-races.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

raceTests(test, 'on SQLite');
