/** Random readers from a fixed seed, or READER_SEED. `npm run test:hostile -- --only readers` reads for longer. */
import type { ExecutionContext, TestFn } from 'ava';
import { PROBED } from '../support/hostile/probe.ts';
import { runReaders } from '../support/hostile/readers.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { testUnless } from '../support/programs.ts';
import { sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const seed = Number(process.env.READER_SEED || 1);

async function read(t: ExecutionContext, stack: TestStack, lastsMs: number, restarts: boolean): Promise<void> {
  t.teardown(() => stack.close());
  t.timeout(240_000);
  const report = await runReaders(stack, { seed, lastsMs, maxRequestMs: 4_000, restarts });
  t.log(JSON.stringify(report.outcomes), `${report.restarts} rolling restarts`);
  t.deepEqual(report.breaches, []);
}

const test: TestFn = testUnless(hostileMissing);

test.serial(
  `Readers - whatever seed ${seed} reads, stops and resets, the server goes on and keeps nothing`,
  async (t) => {
    await read(t, await startTestStack(PROBED), 20_000, false);
  },
);

const testShared: TestFn = testUnless(sharedMissing);

testShared.serial(
  `Readers - those of seed ${seed} have well-formed responses while servers are replaced`,
  async (t) => {
    const shared = await startShared();
    t.teardown(() => shared.close());
    const settings = { ...PROBED, INSTANCES: '2', ...(await shared.settings()) };
    await read(t, await startTestStack(settings), 15_000, true);
  },
);
