/** Finds out who is calling, from `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */

import { apiError } from '../errors.ts';
import type { ApiKeys, Caller, Identity } from '../keys/caller.ts';
import type { Call, Interceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

export function authentication(keys: ApiKeys, anonymous: AnonymousLimits): Interceptor {
  const lookUp = async (call: Call, looking: Promise<Identity> | Identity): Promise<Identity> => {
    try {
      const [identity] = await Promise.all([looking, looking instanceof Promise && anonymous.show(call)]);
      if (!isCaller(identity)) await anonymous.count(call);
      return identity;
    } finally {
      anonymous.release(call);
    }
  };
  return {
    name: 'authentication',
    after: { errorMapping: 'so that a failing key look-up is answered as an error' },
    async intercept(call, next) {
      const key = bearerToken(call);
      const found = key === undefined ? undefined : keys.identify(key, () => anonymous.reserve(call));
      const identity = isCaller(found) ? found : await lookUp(call, found);
      if (key === undefined) throw apiError('API_KEY_MISSING');
      if (!isCaller(identity)) throw apiError('API_KEY_INVALID', { isSuspended: identity === 'suspended' });
      call.caller = identity;
      return next(call);
    },
  };
}

function isCaller(found: Promise<Identity> | Identity): found is Caller {
  return typeof found === 'object' && !(found instanceof Promise);
}

/** The token of the Authorization header; undefined when there is none, or it is not a Bearer. */
export function bearerToken({ metadata }: Call): string | undefined {
  const [header] = metadata.get('authorization');
  return typeof header === 'string' ? BEARER.exec(header)?.[1] : undefined;
}
