/** A short fuzz from a fixed seed, or FUZZ_SEED. `npm run test:hostile -- --only fuzz` sends far more. */
import type { TestFn } from 'ava';
import { fuzz } from '../support/hostile/fuzz.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ LOG_LEVEL: 'info' });
});
test.after.always((t) => t.context.close());

const INPUTS = 2_000;
/** A short run shows large leaks only, as the server is still warming up. */
const MAX_GROWTH = { envoy: 64 * MIB, server: 200 * MIB };

const seed = Number(process.env.FUZZ_SEED || 1);

test(`Fuzz - ${INPUTS} inputs of seed ${seed} get responses that match the contract, and end no process`, async (t) => {
  const { faults, growth } = await fuzz(t.context, { seed, count: INPUTS });
  t.deepEqual(
    faults.map(
      ({ what, count, index, first }) => `${what} (${count} times, first #${index}: ${JSON.stringify(first)})`,
    ),
    [],
  );
  t.true(growth.envoy < MAX_GROWTH.envoy, `Envoy grew by ${growth.envoy} bytes`);
  t.true(growth.server < MAX_GROWTH.server, `the server grew by ${growth.server} bytes`);
  t.is((await t.context.rest.get('/pets')).status, 200);
});
