/** About a minute of chaos on both deployments of the service. `npm run test:chaos` runs for longer. */
import anyTest, { type ExecutionContext } from 'ava';
import { FAULTS } from '../support/chaos/faults.ts';
import { runChaos } from '../support/chaos/run.ts';
import { formatSummary, formatViolations } from '../support/chaos/summary.ts';
import { testUnless } from '../support/programs.ts';
import { sharedMissing } from '../support/shared.ts';

const SEED = 12;
const GIVE_UP_MS = 600_000;

async function runMinute(t: ExecutionContext, deployment: 'sqlite' | 'postgres', lastsMs: number): Promise<void> {
  t.timeout(GIVE_UP_MS);
  const report = await runChaos({
    seed: SEED,
    deployment,
    lastsMs,
    faults: FAULTS,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    onNote: () => undefined,
  });
  t.log(formatSummary([report]));
  t.deepEqual(report.violations, [], formatViolations(report));
  t.is(report.undecided, 0, 'every history is short enough to be decided');
}

anyTest.serial('Chaos - one server on SQLite: nothing lost, nothing stuck, limits, usage and events right', (t) =>
  runMinute(t, 'sqlite', 25_000),
);

const test = testUnless<unknown>(sharedMissing);

test.serial(
  'Chaos - three servers, PostgreSQL and Redis: nothing lost, nothing stuck, limits, usage and events right',
  (t) => runMinute(t, 'postgres', 40_000),
);
