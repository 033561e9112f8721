/** Finds out who is calling, from `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import { apiError } from '../errors.ts';
import type { Call, Caller, Interceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';

/** The caller of a key that is valid now; `suspended`, if only its account is; undefined for any other string. */
export type Identity = Caller | 'suspended' | undefined;

/** Knows whose a key is. */
export interface ApiKeys {
  /**
   * A key that was never seen to be valid costs a look-up, so `beforeLookUp` is asked first: when it rejects, nothing is
   * looked up. Requests with a key whose look-up is on its way share that one.
   */
  identify(key: string, beforeLookUp: () => Promise<void>): Promise<Identity> | Identity;
}

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
    after: { errors: 'so that a failing key look-up is answered as an error' },
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
