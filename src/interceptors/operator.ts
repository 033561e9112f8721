/** Lets the operator through, and nobody else: the admin service's own kind of authentication. */
import { timingSafeEqual } from 'node:crypto';
import { apiError } from '../errors.ts';
import { hashKey } from '../keys/format.ts';
import { bearerToken } from './authentication.ts';
import type { Interceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';

/** A request without the operator's key counts against its address, and is refused with 429 past the limit. */
export function operatorOnly(operatorKey: string, anonymous: Pick<AnonymousLimits, 'count'>): Interceptor {
  const expected = hashKey(operatorKey);
  return {
    name: 'operator',
    after: { errorMapping: 'so that whatever goes wrong here is answered as an error' },
    async intercept(call, next) {
      const key = bearerToken(call);
      // Hashes have one length, and comparing them takes one time.
      if (key === undefined || !timingSafeEqual(hashKey(key), expected)) {
        await anonymous.count(call);
        throw apiError('OPERATOR_KEY_INVALID');
      }
      call.isOperator = true;
      return next(call);
    },
  };
}
