/** A short fuzz from a fixed seed. `npm run test:hostile -- --only Fuzz` sends far more. */
import type { TestFn } from 'ava';
import { fuzz } from '../support/hostile/fuzz.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import { INPUTS, SEED } from '../support/hostile/size.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ LOG_LEVEL: 'info' });
});
test.after.always((t) => t.context.close());

/** A short run shows large leaks only, as the server is still warming up. */
const MAX_GROWTH = { envoy: 64 * MIB, server: 200 * MIB };

test(`Fuzz - ${INPUTS} inputs of seed ${SEED} get responses that match the contract, and end no process`, async (t) => {
  t.timeout(10 * 60_000 + INPUTS * 20);
  const { outcomes, faults, growth } = await fuzz(t.context, SEED, INPUTS);
  t.log(JSON.stringify(outcomes));
  for (const kind of ['HTTP/1.1 404', 'REST 404', 'gRPC 5', 'gRPC-Web 5'])
    t.true((outcomes[kind] ?? 0) > 0, `no ${kind}`);
  t.deepEqual(faults, []);
  t.true(growth.envoy < MAX_GROWTH.envoy, `Envoy grew by ${growth.envoy} bytes`);
  t.true(growth.server < MAX_GROWTH.server, `the server grew by ${growth.server} bytes`);
  t.is((await t.context.rest.get('/pets')).status, 200);
});
