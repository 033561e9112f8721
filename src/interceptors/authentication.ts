/** Identifies the caller by `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */

import { apiError } from '../errors.ts';
import type { ApiKeys, Caller, Identity } from '../keys/caller.ts';
import type { Call, StreamInterceptor } from './chain.ts';
import type { AnonymousLimits } from './limits.ts';
import { headerOf } from './metadata.ts';

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

export function authentication(keys: ApiKeys, anonymous: AnonymousLimits): StreamInterceptor {
  /** Waits for a key look-up, and counts the request against its address unless the key is valid. */
  const resolve = async (call: Call, pending: Promise<Identity> | Identity): Promise<Identity> => {
    const release = await anonymous.hold(call);
    // The response needs the headers when the look-up fails, or takes longer than the caller waits.
    const [identity] = await Promise.all([pending, pending instanceof Promise && anonymous.show(call)]);
    if (isCaller(identity)) release();
    else await anonymous.count(call);
    return identity;
  };
  return {
    name: 'authentication',
    after: {},
    forStreams: true,
    async intercept(call, next) {
      const key = bearerToken(call);
      const found = key === undefined ? undefined : keys.identify(key);
      const identity = isCaller(found) ? found : await resolve(call, found);
      if (key === undefined) throw apiError('API_KEY_MISSING');
      if (!isCaller(identity)) throw apiError('API_KEY_INVALID', { isSuspended: identity === 'suspended' });
      call.caller = identity;
      return next(call);
    },
  };
}

function isCaller(identity: Promise<Identity> | Identity): identity is Caller {
  return typeof identity === 'object' && !(identity instanceof Promise);
}

/** The token of the Authorization header; undefined without the header, or for another scheme. */
export function bearerToken(call: Call): string | undefined {
  return BEARER.exec(headerOf(call, 'authorization') ?? '')?.[1];
}
