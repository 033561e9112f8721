/** Refused requests: the service keeps nothing of them. */
import type { TestFn } from 'ava';
import { AS_DEPLOYED } from '../support/hostile/experiment.ts';
import {
  type Callers,
  GRPC_STATUS,
  httpStatusOf,
  keptOf,
  PROTOCOLS,
  STATUSES,
  statusOf,
} from '../support/hostile/refusals.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
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

const COUNT = 1_500;
/** A kilobyte for each would be 1.5 MiB. */
const MAX_KEPT_BYTES = 1.5 * MIB;

for (const status of STATUSES) {
  for (const protocol of PROTOCOLS) {
    test.serial(
      `Refused - ${COUNT} requests with a ${status} over ${protocol} leave nothing at the server`,
      async (t) => {
        const { stack, callers } = t.context;
        const refusal = { protocol, status };
        const expected = protocol === 'gRPC' ? GRPC_STATUS[status] : httpStatusOf(refusal);
        t.is(await statusOf(stack, refusal, callers), expected);
        const kept = await keptOf(stack, refusal, callers, { count: COUNT });
        t.log(JSON.stringify(kept));
        t.deepEqual(kept.answers, { [httpStatusOf(refusal)]: COUNT });
        t.is(kept.leftOpen, undefined);
        t.true(kept.usedBytes < MAX_KEPT_BYTES, `${kept.usedBytes} bytes are kept`);
      },
    );
  }
}
