/** Identifies the caller by `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import { timingSafeEqual } from 'node:crypto';
import type { ApiKeyCache } from '../access/keys/api-key-cache.ts';
import { hashKey } from '../access/keys/format.ts';
import { type ApiError, apiError } from '../errors.ts';
import type { Caller } from '../rpc/caller.ts';
import type { Call, Interceptor } from '../rpc/chain.ts';
import type { AnonymousLimits } from './limits.ts';

const BEARER = /^Bearer +([^\s]+) *$/i; // RFC 9110, section 11.1: the scheme is case-insensitive

export function authentication(keys: Pick<ApiKeyCache, 'identify'>, anonymous: AnonymousLimits): Interceptor {
  return async (call, next) => {
    const key = bearerToken(call);
    let release = (): void => undefined;
    const hold = async (isGuess: boolean) => {
      release = await anonymous.hold(call, isGuess);
    };
    const found = key === undefined ? undefined : keys.identify(key, () => hold(true));
    const admit = (caller: Caller) => {
      call.caller = caller;
      if (call.operation.isFeed && key !== undefined) call.identify = () => keys.identify(key);
      return next(call);
    };
    if (isCaller(found)) return admit(found);
    // The response needs the headers when the look-up fails, or takes longer than the caller waits.
    const [identity] = await Promise.all([found ?? hold(false), found instanceof Promise && anonymous.show(call)]);
    if (!isCaller(identity)) {
      await anonymous.count(call, found !== undefined);
      throw key === undefined
        ? apiError('API_KEY_MISSING')
        : apiError('API_KEY_INVALID', { isSuspended: identity === 'suspended' });
    }
    release();
    return admit(identity);
  };
}

/**
 * Admits only the operator. A request without the operator's key counts against its address: beyond the limit it gets a
 * 429, before that a 401, of which `refused` learns.
 */
export function operatorOnly(
  operatorKey: string,
  anonymous: Pick<AnonymousLimits, 'count'>,
  refused: (call: Call, error: ApiError) => void,
): Interceptor {
  const expected = hashKey(operatorKey);
  return async (call, next) => {
    const key = bearerToken(call);
    // Hashes have the same length, so the comparison takes the same time for every key.
    if (key === undefined || !timingSafeEqual(hashKey(key), expected)) {
      await anonymous.count(call, false);
      const error = apiError('OPERATOR_KEY_INVALID');
      refused(call, error);
      throw error;
    }
    return next(call);
  };
}

function isCaller(identity: unknown): identity is Caller {
  return typeof identity === 'object' && !(identity instanceof Promise);
}

/** The token of the Authorization header; undefined without the header, or for another scheme. */
function bearerToken(call: Call): string | undefined {
  return BEARER.exec(call.header('authorization') ?? '')?.[1];
}
