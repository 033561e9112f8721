/** A Redis cluster of three masters with a replica each. `npm run test:walk` has every fault. */
import { MISSING_REDIS_SERVER, startRedisCluster } from '../support/machine/redis.ts';
import { sharing } from '../support/service/sharing.ts';
import { endure, FAULTS } from './redis-cluster.ts';
import { isCampaign } from './walk.ts';

const test = sharing(MISSING_REDIS_SERVER, (t) => startRedisCluster(t, 1));

const all = Object.entries(FAULTS);
for (const [name, fault] of isCampaign ? all : all.slice(0, 3)) {
  test.serial(`Redis cluster, ${name} - decisions wait once at most, no count falls, one line each way`, async (t) => {
    t.timeout(180_000);
    t.log(await endure(t, t.context, fault));
    t.pass();
  });
}
