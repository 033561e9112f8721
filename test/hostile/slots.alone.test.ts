/** How many calls one host may hold open, and that no other caller waits for them. */
import type { ExecutionContext, TestFn } from 'ava';
import { generateKey } from '../../src/access/keys/format.ts';
import type { Attack } from '../support/hostile/attack.ts';
import { breaches, ON_A_BUSY_MACHINE } from '../support/hostile/bounds.ts';
import { AS_DEPLOYED, measureAttack, type Report } from '../support/hostile/experiment.ts';
import { ANSWERED, silentCalls, silentCallsWithMadeUpKeys, watches } from '../support/hostile/grpc-calls.ts';
import { rawGrpc } from '../support/hostile/raw-grpc.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { grpcFrame, targetOf } from '../support/hostile/sockets.ts';
import type { Outcomes } from '../support/hostile/tally.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.after.always((t) => t.context.close());

const PER_MINUTE = Number(AS_DEPLOYED.ADDRESS_PER_MINUTE);
const UNAUTHENTICATED = 16;
const RESOURCE_EXHAUSTED = 8;
const UNAVAILABLE = 14;
/** Far more than a client needs, and too few to affect other callers. */
const MAX_WATCHES = 500;

test.serial('Slots - the watches of one address are bounded, and all other callers are served', async (t) => {
  const size = watches.short;
  const report = await measureAttack(t.context, watches, { size, holdMs: 5_000, recoveryMs: 0, from: ['127.0.0.2'] });
  t.deepEqual(breaches(report, ON_A_BUSY_MACHINE), []);
  const { [ANSWERED]: held = 0, ...ended } = report.outcomes.counts;
  // Together they exceed the slots of calls without a key: some are refused before they are counted.
  const refusals = [`grpc-status ${UNAVAILABLE}`, `grpc-status ${RESOURCE_EXHAUSTED}`];
  t.deepEqual(
    Object.keys(ended).filter((outcome) => !refusals.includes(outcome)),
    [],
  );
  t.true(held > 0 && held <= MAX_WATCHES, `${held} watches were answered`);
});

test.serial('Slots - an address can call again after its watches have ended', async (t) => {
  const target = targetOf(t.context.publicAddress, '127.0.0.2');
  const { status } = await rawGrpc(target, { path: '/grpc.health.v1.Health/Check', bytes: grpcFrame() });
  t.is(status, 0);
});

/** The most calls of an attack that may count as guesses of a key. */
function guesses({ attackMs }: Report): number {
  return PER_MINUTE * (1 + Math.ceil(attackMs / 60_000)); // a window may end during the attack
}

function refusals(counts: Outcomes['counts']) {
  const [unauthenticated = 0, exhausted = 0] = [UNAUTHENTICATED, RESOURCE_EXHAUSTED].map(
    (status) => counts[`grpc-status ${status}`],
  );
  return { unauthenticated, exhausted };
}

async function isRefusedAtOnce(t: ExecutionContext<TestStack>, attack: Attack, from: string): Promise<void> {
  const size = attack.short;
  const all = size.connections * size.perConnection;
  const report = await measureAttack(t.context, attack, {
    size,
    holdMs: 60_000,
    isOver: ({ counts }) => refusals(counts).unauthenticated + refusals(counts).exhausted >= all,
    recoveryMs: 0,
    from: [from],
  });
  t.deepEqual(breaches(report, ON_A_BUSY_MACHINE), []);
  const { counts } = report.outcomes;
  const { unauthenticated, exhausted } = refusals(counts);
  t.is(unauthenticated + exhausted, all, JSON.stringify(counts));
  t.true(unauthenticated > 0 && unauthenticated <= guesses(report), JSON.stringify(counts));
}

test.serial('Slots - calls without a key are refused by their headers, without a message', async (t) => {
  await isRefusedAtOnce(t, silentCalls, '127.0.0.4');
});

test.serial('Slots - calls with made-up keys are refused by their headers, without a message', async (t) => {
  await isRefusedAtOnce(t, silentCallsWithMadeUpKeys, '127.0.0.5');
});

for (const [title, key] of [
  ['no key', undefined],
  ['a made-up key', generateKey()],
] as const) {
  test.serial(`Slots - a call with ${title} is UNAUTHENTICATED before its message arrives`, async (t) => {
    const { publicAddress, grpcAddress } = t.context;
    for (const address of [publicAddress, grpcAddress]) {
      const target = targetOf(address, '127.0.0.6');
      const call = { path: '/petstore.v1.PetService/ListPets', key, isEnded: false };
      const { status, reason, tookMs } = await rawGrpc(target, call);
      t.is(status, UNAUTHENTICATED);
      t.is(reason, key === undefined ? 'API_KEY_MISSING' : 'API_KEY_INVALID');
      t.true(tookMs < 10_000, `it took ${tookMs} ms`);
    }
  });
}
