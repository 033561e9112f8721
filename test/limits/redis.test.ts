import { MISSING_REDIS, startRedis } from '../support/redis.ts';
import { runRedisSuites } from './suite/redis.ts';

runRedisSuites(MISSING_REDIS, startRedis);
