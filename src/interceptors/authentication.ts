/** Finds out who is calling, from `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import { apiError } from '../errors.ts';
import type { Caller, Interceptor } from './chain.ts';

/** Knows whose a key is. */
export interface KeyRing {
  /** The caller of a key that is valid now; undefined for any other string. */
  identify(key: string): Promise<Caller | undefined> | Caller | undefined;
}

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

export function authentication(keys: KeyRing): Interceptor {
  return {
    name: 'authentication',
    after: { errors: 'so that a failing key look-up is answered as an error' },
    async intercept(call, next) {
      const [header] = call.metadata.get('authorization');
      const key = typeof header === 'string' ? BEARER.exec(header)?.[1] : undefined;
      if (key === undefined) throw apiError('API_KEY_MISSING');
      const found = keys.identify(key);
      const caller = found instanceof Promise ? await found : found;
      if (caller === undefined) throw apiError('API_KEY_INVALID');
      return next({ ...call, caller });
    },
  };
}
