/** Each attack, with callers beside it who must be served. `npm run test:hostile` runs them at full size. */
import type { TestFn } from 'ava';
import { grpcFrame, rawGrpc, targetOf } from '../support/calls/http2.ts';
import { testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { ATTACKS } from './campaign/attacks.ts';
import { breaches, figuresOf, measureAttack } from './campaign/experiment.ts';
import { AS_DEPLOYED, hostileMissing } from './campaign/service.ts';

const test: TestFn = testUnless(hostileMissing);

for (const [index, attack] of ATTACKS.entries()) {
  test.serial(attack.promise, async (t) => {
    t.timeout(300_000);
    // A service of its own: Envoy's allocator keeps the memory that an attack has taken.
    const stack = await startTestStack(t, AS_DEPLOYED);
    const from = `127.0.2.${index + 1}`;
    const report = await measureAttack(stack, attack, from);
    t.log(figuresOf(report));
    t.deepEqual(breaches(attack, report), []);
    if (!attack.promise.startsWith('Slots')) return;
    const check = { path: '/grpc.health.v1.Health/Check', body: grpcFrame() };
    t.is((await rawGrpc(targetOf(stack.publicAddress, from), check)).status, 0, 'the address can call again');
  });
}
