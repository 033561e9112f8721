/** About a minute of chaos on both deployments of the service. `npm run test:chaos` runs for longer. */
import anyTest, { type ExecutionContext } from 'ava';
import { sharedMissing } from '../support/service/shared.ts';
import { testUnless } from '../support/service/sharing.ts';
import { FAULTS } from './campaign/faults.ts';
import { runChaos } from './campaign/run.ts';

/** Set by scripts/chaos.ts. The default seed has all kinds of faults within a minute. */
const { CHAOS_SEED = '155', CHAOS_SEEDS = '1', CHAOS_MINUTES, CHAOS_FAULTS } = process.env;
const GIVE_UP_MS = 600_000;

const faults = FAULTS.filter(({ name }) => CHAOS_FAULTS === undefined || CHAOS_FAULTS.split(',').includes(name));

async function run(t: ExecutionContext, deployment: 'sqlite' | 'postgres', seed: number, ms: number): Promise<void> {
  const lastsMs = CHAOS_MINUTES === undefined ? ms : Number(CHAOS_MINUTES) * 60_000;
  t.timeout(lastsMs + GIVE_UP_MS);
  const { violations, text } = await runChaos(t, { seed, deployment, lastsMs, faults });
  t.log(text);
  t.deepEqual(violations, []);
}

const test = testUnless<unknown>(sharedMissing);

for (let index = 0; index < Number(CHAOS_SEEDS); index += 1) {
  const seed = Number(CHAOS_SEED) + index;
  const titled = (title: string) => (index === 0 ? title : `${title} (seed ${seed})`);
  anyTest.serial(titled('Chaos - one server on SQLite: nothing lost or stuck, and events right'), (t) =>
    run(t, 'sqlite', seed, 25_000),
  );
  test.serial(titled('Chaos - three servers: nothing lost or stuck, and events right'), (t) =>
    run(t, 'postgres', seed, 40_000),
  );
}
