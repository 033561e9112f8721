/** Finds out who is calling, from `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import { apiError } from '../errors.ts';
import type { Call, Caller, Interceptor } from './chain.ts';

/** Knows whose a key is. */
export interface KeyRing {
  /** The caller of a key that is valid now; undefined for any other string. */
  identify(key: string): Promise<Caller | undefined> | Caller | undefined;
}

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

/** Told of each request without a valid key before it is refused; it may refuse it itself. */
type OnStranger = (call: Call) => Promise<void>;

export function authentication(keys: KeyRing, onStranger: OnStranger): Interceptor {
  return {
    name: 'authentication',
    after: { errors: 'so that a failing key look-up is answered as an error' },
    async intercept(call, next) {
      const key = bearerToken(call);
      const found = key === undefined ? undefined : keys.identify(key);
      const caller = found instanceof Promise ? await found : found;
      if (caller === undefined) {
        await onStranger(call);
        throw apiError(key === undefined ? 'API_KEY_MISSING' : 'API_KEY_INVALID');
      }
      return next({ ...call, caller });
    },
  };
}

/** The token of the Authorization header; undefined when there is none, or it is not a Bearer. */
export function bearerToken({ metadata }: Call): string | undefined {
  const [header] = metadata.get('authorization');
  return typeof header === 'string' ? BEARER.exec(header)?.[1] : undefined;
}
