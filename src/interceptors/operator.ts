/** Lets the operator through, and nobody else: the admin service's own kind of authentication. */
import { timingSafeEqual } from 'node:crypto';
import { apiError } from '../errors.ts';
import { hashKey } from '../keys/format.ts';
import { bearerToken } from './authentication.ts';
import type { Call, Interceptor } from './chain.ts';

/** `onStranger` is told of each request without the operator's key before it is refused; it may refuse it itself. */
export function operatorOnly(operatorKey: string, onStranger: (call: Call) => Promise<void>): Interceptor {
  const expected = hashKey(operatorKey);
  return {
    name: 'operator',
    after: { errors: 'so that whatever goes wrong here is answered as an error' },
    async intercept(call, next) {
      const key = bearerToken(call);
      // Hashes have one length, and comparing them takes one time.
      if (key === undefined || !timingSafeEqual(hashKey(key), expected)) {
        await onStranger(call);
        throw apiError('OPERATOR_KEY_INVALID');
      }
      return next(call);
    },
  };
}
