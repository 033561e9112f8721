import { MISSING_REDIS_SERVER, startRedisCluster } from '../../support/redis.ts';
import { runRedisSuites } from './suite/redis-suites.ts';

runRedisSuites(MISSING_REDIS_SERVER, startRedisCluster);
