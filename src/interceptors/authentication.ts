/** Finds out who is calling, from `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import { apiError } from '../errors.ts';
import type { Call, Caller, Interceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';

/** Knows whose a key is. */
export interface KeyRing {
  /**
   * The caller of a key that is valid now; undefined for any other string. A key that was never seen to be valid
   * costs a look-up, so `beforeLookUp` is asked first: when it rejects, nothing is looked up.
   */
  identify(key: string, beforeLookUp: () => Promise<void>): Promise<Caller | undefined> | Caller | undefined;
}

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

export function authentication(keys: KeyRing, anonymous: AnonymousLimits): Interceptor {
  const lookUp = async (call: Call, looking: Promise<Caller | undefined> | undefined): Promise<Caller | undefined> => {
    try {
      const caller = await looking;
      if (caller === undefined) await anonymous.count(call);
      return caller;
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
      const caller = found === undefined || found instanceof Promise ? await lookUp(call, found) : found;
      if (caller === undefined) throw apiError(key === undefined ? 'API_KEY_MISSING' : 'API_KEY_INVALID');
      call.caller = caller;
      return next(call);
    },
  };
}

/** The token of the Authorization header; undefined when there is none, or it is not a Bearer. */
export function bearerToken({ metadata }: Call): string | undefined {
  const [header] = metadata.get('authorization');
  return typeof header === 'string' ? BEARER.exec(header)?.[1] : undefined;
}
