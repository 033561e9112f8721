/** What one host may have open, with a key or without one: none of it costs another caller an answer. */
import type { TestFn } from 'ava';
import { Plan } from '../../gen/petstore/admin/v1/admin.ts';
import type { Attack } from '../support/hostile/attack.ts';
import { type Bounds, breaches, ON_A_BUSY_MACHINE } from '../support/hostile/bounds.ts';
import { AS_DEPLOYED, measureAttack } from '../support/hostile/experiment.ts';
import { bodilessGets, healthCrowd, silentCallsWithKey, silentChecks } from '../support/hostile/open-streams.ts';
import { hostileMissing, MIB } from '../support/hostile/resources.ts';
import type { Outcomes } from '../support/hostile/tally.ts';
import { unreadReflection } from '../support/hostile/unread-reflection.ts';
import { connectOperator } from '../support/operator.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

// Each attack has a service of its own: what one leaves behind must not be counted against the next.
test.beforeEach(async (t) => {
  t.context = await startTestStack(AS_DEPLOYED);
});
test.afterEach.always((t) => t.context.close());

/** The streams that one address without a key may have open. */
const SHARE = 50;
const HOLD_MS = 8_000;

interface Case {
  readonly attack: Attack;
  readonly bounds?: Bounds;
  /** How many of the requests may have no response. */
  readonly maxOpen?: number;
  readonly hasKey?: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  'Without a key - a reflection stream that is never read does not grow the server': {
    attack: unreadReflection,
    bounds: { maxServerGrowthBytes: 100 * MIB },
  },
  'Without a key - a GET is answered by its headers, without the end of the request': {
    attack: bodilessGets,
    maxOpen: 0,
  },
  'Without a key - health checks without a message are open for an address’s share only': {
    attack: silentChecks,
    maxOpen: SHARE,
  },
  'Without a key - a crowd at /healthz takes nothing from callers with a key': {
    attack: healthCrowd,
    bounds: { maxShedShare: 0.01 },
  },
  'With a key - 970 calls without a message leave other accounts their slots': {
    attack: silentCallsWithKey,
    hasKey: true,
  },
};

for (const [index, [title, { attack, bounds, maxOpen, hasKey = false }]] of Object.entries(CASES).entries()) {
  test.serial(title, async (t) => {
    const size = attack.short;
    const all = size.connections * size.perConnection;
    const operator = await connectOperator(t.context);
    const key = hasKey ? await operator.keyOf(Plan.PLAN_BUSINESS) : undefined;
    operator.close();
    const report = await measureAttack(t.context, attack, {
      size,
      holdMs: HOLD_MS,
      isOver: ({ total }) => maxOpen !== undefined && total >= all - maxOpen,
      recoveryMs: 0,
      from: [`127.0.2.${index + 1}`],
      ...(key === undefined ? {} : { key }),
    });
    t.log(JSON.stringify(report.outcomes.counts));
    t.deepEqual(breaches(report, { ...ON_A_BUSY_MACHINE, ...bounds }), []);
    if (maxOpen !== undefined) t.true(ended(report.outcomes) >= all - maxOpen, JSON.stringify(report.outcomes.counts));
  });
}

function ended({ counts, total }: Outcomes): number {
  return total - (counts.unanswered ?? 0);
}
