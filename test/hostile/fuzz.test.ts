/** A short fuzz from a fixed seed. `npm run test:hostile -- --only Fuzz` sends far more. */
import type { TestFn } from 'ava';
import { testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { fuzz } from './campaign/fuzz.ts';
import { hostileMissing, INPUTS, PROBED, SEED } from './campaign/service.ts';

const test: TestFn = testUnless(hostileMissing);

test(`Fuzz - ${INPUTS} inputs of seed ${SEED}, however read, leave nothing and get right responses`, async (t) => {
  t.timeout(10 * 60_000 + INPUTS * 20);
  const stack = await startTestStack(t, { ...PROBED, LOG_LEVEL: 'info' });
  const { outcomes, breaches } = await fuzz(stack, SEED, INPUTS);
  t.log(JSON.stringify(outcomes));
  for (const kind of ['HTTP/1.1 404', 'REST 404', 'gRPC 5', 'gRPC-Web 5', 'Connect 200', 'gRPC left', 'REST left']) {
    t.true((outcomes[kind] ?? 0) > 0, `no ${kind}`);
  }
  t.deepEqual(breaches, []);
  t.is((await stack.rest.get('/pets')).status, 200);
});
