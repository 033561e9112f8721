/**
 * Counts each request against its account, or against its IP address when it has no valid key.
 *
 * The numbers go into `responseHeaders`, so every response has them, including an error from further down the chain.
 */

import { type Attempt, type Decision, type Limiter, type Subject, subjectName } from '../access/limits/limiter.ts';
import { secondsUntil } from '../access/limits/windows.ts';
import type { Ban } from '../access/tables/bans.ts';
import { type Quota, WINDOWS } from '../config/plans.ts';
import { type ApiError, apiError } from '../errors.ts';
import type { AccountId, Caller } from '../rpc/caller.ts';
import type { Call, Interceptor } from '../rpc/chain.ts';

/**
 * The largest message of a service that needs no key. The name of a file, a symbol or a service is shorter. To read
 * 64 KiB of unknown fields takes 50 times as long as a refusal, and they may be compressed to 100 bytes.
 */
const MAX_KEYLESS_BYTES = 1_024;

interface LimitsOptions {
  /** Bounds the open calls of accounts and addresses. Both throw RATE_LIMITED past the share. */
  readonly shares: {
    holdForAddress(call: Call, what: string): () => void;
    holdForAccount(call: Call, account: AccountId): void | Promise<void>;
  };
  /** Stores and counts the ban of a caller's key that a request begins. It must neither wait nor throw. */
  readonly onBan: (ban: Ban, caller: Caller) => void;
  /** How many requests without a valid key an address may make per minute, and as many guesses of keys. */
  readonly addressPerMinute: number;
}

/** The limits of requests without a valid key, by IP address. */
export type AnonymousLimits = ReturnType<typeof limits>['anonymous'];

/** An address has a limit for the shortest window alone. */
const UNLIMITED = Object.fromEntries(WINDOWS.map(({ quota }) => [quota, Number.POSITIVE_INFINITY])) as unknown as Quota;

export function limits(limiter: Limiter, { shares, onBan, addressPerMinute }: LimitsOptions) {
  const addressQuota = { ...UNLIMITED, [WINDOWS[0].quota]: addressPerMinute };
  const attemptOf = (call: Call, kind: 'address' | 'guesses' = 'address'): Attempt => {
    return { kind, address: call.address, quota: addressQuota, ...momentOf(call) };
  };
  const count = async (call: Call, attempt: Attempt): Promise<void> => {
    const decision = await limiter.admit(attempt);
    setHeaders(call, decision);
    if (decision.allowed) return;
    if (decision.begunBan !== undefined && call.caller !== undefined) onBan(decision.begunBan, call.caller);
    throw limitError(attempt, decision);
  };
  const peek = async (call: Call, attempt: Attempt): Promise<Decision> => {
    const decision = await limiter.peek(attempt);
    setHeaders(call, decision);
    return decision;
  };
  /** Holds a share of the open calls. A refusal shows the limits like any response, and counts for nothing. */
  const hold = async <T>(call: Call, attempt: Attempt, take: () => T | Promise<T>): Promise<T> => {
    try {
      return await take();
    } catch (error) {
      await peek(call, attempt);
      throw error;
    }
  };
  const interceptor: Interceptor = async (call, next) => {
    const { caller } = call;
    if (caller === undefined) throw new Error('a call reached the limits without a caller');
    const { accountId, keyId, quota } = caller;
    const attempt = { kind: 'account', accountId, keyId, quota, ...momentOf(call) } as const;
    await hold(call, attempt, () => shares.holdForAccount(call, accountId));
    const { counting } = call.operation; // one that is never counted has the headers too, by `peek`
    if (counting === 'always') await count(call, attempt);
    else if (!(await peek(call, attempt)).allowed && counting === 'refusals') await count(call, attempt);
    return next(call);
  };
  /** Bounds the open calls of an address and their messages, for services that need no key. */
  const keyless: Interceptor = async (call, next) => {
    call.boundMessages(MAX_KEYLESS_BYTES);
    await hold(call, attemptOf(call), () => shares.holdForAddress(call, call.operation.path));
    return next(call);
  };
  const anonymous = {
    /** Counts a request against its address; a `guess` had a key of the right form. Rejects beyond the limit. */
    async count(call: Call, isGuess: boolean): Promise<void> {
      if (isGuess) await limiter.admit(attemptOf(call, 'guesses'));
      const attempt = attemptOf(call);
      if (call.operation.counting === 'never') await peek(call, attempt);
      else await count(call, attempt);
    },
    /** Sets the rate limit headers to the limits of the address. */
    async show(call: Call): Promise<void> {
      await peek(call, attemptOf(call));
    },
    /**
     * Counts an open call without a known key against its address, until it is closed or released. Rejects with
     * RATE_LIMITED past the share of an address; also a guess, when the address has used up a minute's limit of wrong
     * guesses. These are counted apart: requests without a key use up nothing for the valid keys behind their address.
     */
    async hold(call: Call, isGuess: boolean): Promise<() => void> {
      const release = await hold(call, attemptOf(call), () => shares.holdForAddress(call, 'key'));
      const decision = isGuess ? await peek(call, attemptOf(call, 'guesses')) : undefined;
      if (decision === undefined || decision.allowed) return release;
      throw limitError(attemptOf(call), decision);
    },
  };
  return { interceptor, keyless, anonymous };
}

/** Only the edge repeats a request by itself, under the id that it has given to it. Callers choose theirs. */
function momentOf({ source, requestId }: Call) {
  return { nowMs: Date.now(), requestId: source === 'forwarded' ? requestId : undefined };
}

/** RateLimit and RateLimit-Policy are of draft-ietf-httpapi-ratelimit-headers-10. */
function setHeaders({ responseHeaders }: Call, { limit, remaining, resetAtSeconds, windows, nowMs }: Decision): void {
  responseHeaders.set('x-ratelimit-limit', String(limit));
  responseHeaders.set('x-ratelimit-remaining', String(remaining));
  responseHeaders.set('x-ratelimit-reset', String(resetAtSeconds));
  let [policy, left] = ['', ''];
  for (const one of windows) {
    const [comma, name] = [policy && ', ', one.window];
    policy += `${comma}"${name}";q=${one.limit};w=${one.seconds}`;
    left += `${comma}"${name}";r=${one.remaining};t=${secondsUntil(one.resetAtSeconds * 1_000, nowMs)}`;
  }
  responseHeaders.set('ratelimit-policy', policy);
  responseHeaders.set('ratelimit', left);
}

function limitError(subject: Subject, decision: Decision): ApiError {
  const { retryAfterSeconds, bannedUntilMs } = decision;
  const options = { retryAfterSeconds, quotaSubject: subjectName(subject) };
  if (bannedUntilMs !== undefined) return apiError('API_KEY_BANNED', { retryAfterSeconds }, options);
  return apiError('RATE_LIMITED', decision, options);
}
