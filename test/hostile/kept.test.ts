/** What callers send is not kept. */
import type { TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import { keptAfter, keptOfPaddedKeys, watchNames } from '../support/hostile/kept.ts';
import {
  type Callers,
  expectedOf,
  PROTOCOLS,
  STATUSES,
  sendMany,
  sendOne,
  toRefused,
} from '../support/hostile/refusals.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import { isFull } from '../support/hostile/size.ts';
import { connectOperator } from '../support/operator.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<{ stack: TestStack; callers: Callers }> = testUnless(hostileMissing);

test.before(async (t) => {
  const stack = await startTestStack(AS_DEPLOYED);
  const operator = await connectOperator(stack);
  t.context = { stack, callers: { key: stack.key, usedUp: await operator.keyOf({ perMinute: 1, perDay: 1 }) } };
  operator.close();
  await stack.rest.withKey(t.context.callers.usedUp).get('/pets');
});
test.after.always((t) => t.context.stack.close());

const [REFUSALS, NAMES, SPELLINGS] = isFull ? [300_000, 6_000, 3_000] : [1_500, 600, 1_500];
/** A kilobyte for each of the few would be 1.5 MiB. */
const MAX_BYTES = (isFull ? 30 : 1.5) * MIB;

for (const status of STATUSES) {
  for (const protocol of PROTOCOLS) {
    test.serial(`Refused - ${REFUSALS} requests with a ${status} over ${protocol} leave nothing`, async (t) => {
      const { stack, callers } = t.context;
      const refused = toRefused(protocol, status, callers);
      const expected = expectedOf(protocol, status);
      t.deepEqual(await sendOne(stack, refused), expected);
      const send = (count: number) => async () =>
        t.deepEqual(await sendMany(stack, refused, count), { [expected.http]: count });
      const { bytes, open } = await keptAfter(stack, send(REFUSALS / 5), send(REFUSALS));
      t.is(open, undefined);
      t.true(bytes < MAX_BYTES, `${bytes} bytes are kept`);
    });
  }
}

test.serial(`Kept - names of 60 KB in ${NAMES} health watches leave nothing at the server`, async (t) => {
  const { stack } = t.context;
  const watch = (count: number) => () => watchNames(stack, count);
  const { bytes } = await keptAfter(stack, watch(40), watch(NAMES));
  t.true(bytes < (isFull ? 16 : 5) * MIB, `${bytes} bytes are kept`);
});

test.serial(`Kept - ${SPELLINGS} spellings of one key with 20,000 spaces leave nothing in Envoy`, async (t) => {
  const maxBytes = (isFull ? 16 : 12) * MIB;
  const bytes = await keptOfPaddedKeys(t.context.stack, SPELLINGS, maxBytes);
  t.true(bytes <= maxBytes, `${bytes} bytes are kept`);
});
