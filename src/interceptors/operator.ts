/** Admits only the operator: the authentication of the admin service. */
import { timingSafeEqual } from 'node:crypto';
import { apiError } from '../errors.ts';
import { hashKey } from '../keys/format.ts';
import { bearerToken } from './authentication.ts';
import type { Interceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';

/**
 * A request without the operator's key counts against its address: beyond the limit it gets a 429, before that a 401.
 */
export function operatorOnly(operatorKey: string, anonymous: Pick<AnonymousLimits, 'count'>): Interceptor {
  const expected = hashKey(operatorKey);
  return {
    name: 'operator',
    async intercept(call, next) {
      const key = bearerToken(call);
      // Hashes have the same length, so the comparison takes the same time for every key.
      if (key === undefined || !timingSafeEqual(hashKey(key), expected)) {
        await anonymous.count(call, false);
        throw apiError('OPERATOR_KEY_INVALID');
      }
      call.isOperator = true;
      return next(call);
    },
  };
}
