/** Each attack, with callers beside it who must be served. `npm run test:hostile` runs them at full size. */
import type { TestFn } from 'ava';
import { ATTACKS } from '../support/hostile/attacks.ts';
import { breaches, figuresOf } from '../support/hostile/bounds.ts';
import { measureAttack } from '../support/hostile/experiment.ts';
import { rawGrpc } from '../support/hostile/http2.ts';
import { AS_DEPLOYED, hostileMissing } from '../support/hostile/service.ts';
import { grpcFrame, targetOf } from '../support/hostile/sockets.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack } from '../support/stack.ts';

const test: TestFn = testUnless(hostileMissing);

for (const [index, attack] of ATTACKS.entries()) {
  test.serial(attack.promise, async (t) => {
    t.timeout(300_000);
    // A service of its own: Envoy's allocator keeps the memory that an attack has taken.
    const stack = await startTestStack(AS_DEPLOYED);
    t.teardown(() => stack.close());
    const from = `127.0.2.${index + 1}`;
    const report = await measureAttack(stack, attack, from);
    t.log(figuresOf(report));
    t.deepEqual(breaches(attack, report), []);
    if (!attack.promise.startsWith('Slots')) return;
    const check = { path: '/grpc.health.v1.Health/Check', body: grpcFrame() };
    t.is((await rawGrpc(targetOf(stack.publicAddress, from), check)).status, 0, 'the address can call again');
  });
}
