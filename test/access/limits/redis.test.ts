import { MISSING_REDIS, startRedis } from '../../support/redis.ts';
import { runRedisSuites } from './suite/redis-suites.ts';

runRedisSuites(MISSING_REDIS, startRedis);
