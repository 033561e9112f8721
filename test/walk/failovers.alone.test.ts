/** Each kind of fail-over of PostgreSQL and Redis. `npm run test:walk` has all of them. */
import { readFileSync } from 'node:fs';
import anyTest from 'ava';
import { sharing } from '../support/service/sharing.ts';
import { walkFailOver } from './failover-walk.ts';
import { startMachines, worldMissing } from './failover-world.ts';
import { FAIL_OVERS } from './failovers.ts';
import { isCampaign } from './walk.ts';

const test = sharing(worldMissing, async (t) => {
  t.timeout(120_000);
  return { machines: await startMachines(t) };
});

const all = Object.entries(FAIL_OVERS);
for (const [name, failOver] of isCampaign ? all : all.filter(([, { isShort }]) => isShort)) {
  test.serial(`Fail-over, ${name} - it costs what the page says, and nobody misses anything else`, async (t) => {
    t.timeout(300_000);
    t.log(await walkFailOver(t, t.context.machines, failOver));
    t.pass();
  });
}

anyTest('Fail-overs - the page of high availability has each kind, and what it costs', (t) => {
  const page = readFileSync(new URL('../../docs/high-availability.md', import.meta.url), 'utf8');
  const [, , ...lines] = page.match(/^\|.*\|$/gm) ?? [];
  const rows = lines.map((line) => Array.from(line.slice(1, -1).split('|'), (cell) => cell.trim()));
  const expected = all.map(([name, { until, costs }]) => [name, until, ...Object.values(costs)]);
  t.deepEqual(rows, expected);
});
