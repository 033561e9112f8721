/** Identifies the caller by `Authorization: Bearer <API_KEY>` (RFC 6750, section 2.1). */
import type { ApiKeyCache } from '../access/keys/api-key-cache.ts';
import { bearerToken } from '../access/keys/format.ts';
import type { RequestLimits } from '../access/limits/request-limits.ts';
import { apiError } from '../errors.ts';
import type { Caller } from '../rpc/caller.ts';
import { check } from '../rpc/chain.ts';

type Limits = Pick<RequestLimits, 'countForAddress' | 'holdForAddress' | 'checkGuesses' | 'show'>;

export const authentication = (keys: Pick<ApiKeyCache, 'identify'>, limits: Limits) =>
  check({ name: 'authentication', leaves: ['caller', 'identify', 'isUnjudged'] }, (call) => {
    const key = bearerToken(call.header('authorization'));
    let release = (): void => undefined;
    // A call without a known key is open on the account of its address.
    const hold = async () => {
      release = await limits.holdForAddress(call, 'key');
    };
    const holdGuess = async () => {
      await hold();
      await limits.checkGuesses(call);
    };
    const admit = (caller: Caller) => {
      call.caller = caller;
      if (call.operation.isEventStream && key !== undefined) call.identify = () => keys.identify(key);
    };
    /** Without a key, or with one that is mistyped or known to have expired, nothing has to be looked up. */
    const judge = async (lookUp: Exclude<ReturnType<ApiKeyCache['identify']>, Caller>) => {
      // The response needs the headers when the look-up fails, or takes longer than the caller waits.
      const answered = Promise.all([lookUp ?? hold(), lookUp && limits.show(call)]);
      const [identity] = await answered.catch((error) => {
        call.isUnjudged = true; // also when its address may look up no more: then it is refused
        throw error;
      });
      if (!isCaller(identity)) {
        await limits.countForAddress(call, lookUp !== undefined);
        throw key === undefined
          ? apiError('API_KEY_MISSING')
          : apiError('API_KEY_INVALID', { isSuspended: identity === 'suspended' });
      }
      release();
      admit(identity);
    };
    const found = key === undefined ? undefined : keys.identify(key, holdGuess);
    return isCaller(found) ? admit(found) : judge(found);
  });

function isCaller(identity: unknown): identity is Caller {
  return typeof identity === 'object' && !(identity instanceof Promise);
}
