/**
 * Counts each request against its account, or against its IP address when it has no valid key.
 *
 * The numbers go into `responseHeaders`, so every response has them, including an error from further down the chain.
 */

import { type ApiError, apiError } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import type { AddressAttempt, Attempt, Decision, Limiter } from '../limits/limiter.ts';
import { subjectName } from '../limits/subjects.ts';
import type { Reading, Verdict } from '../limits/windows.ts';
import { addressOf } from './address.ts';
import type { Call, Interceptor } from './chain.ts';
import { InFlightCounter } from './in-flight-counter.ts';

/** The limits of requests without a valid key, by IP address. */
export interface AnonymousLimits {
  /** Counts a request against its address. Rejects with RATE_LIMITED beyond the limit. */
  count(call: Call): Promise<void>;
  /**
   * Reserves a key look-up. Rejects with RATE_LIMITED when the address has used up its limit, or the look-ups in flight
   * would: an address never has more look-ups than its limit allows.
   */
  reserve(call: Call): Promise<void>;
  /**
   * Sets the rate limit headers to the limits of the address while the key is looked up. The response needs them when
   * the look-up fails, or takes longer than the caller waits.
   */
  show(call: Call): Promise<void>;
  /** Ends the reservation of a call, if it has one. */
  release(call: Call): void;
}

export interface Limits {
  readonly interceptor: Interceptor;
  readonly anonymous: AnonymousLimits;
}

interface LimitsOptions {
  readonly nowMs?: () => number;
  /** Called when a request gets the key of its caller banned. */
  readonly onBan?: (caller: Caller) => void;
}

export function limits(limiter: Limiter, { nowMs = Date.now, onBan }: LimitsOptions = {}): Limits {
  const count = async (call: Call, attempt: Attempt): Promise<void> => {
    const pending = limiter.admit(attempt);
    const decision = pending instanceof Promise ? await pending : pending;
    setHeaders(call, decision);
    if (!decision.allowed) {
      if ('beginsBan' in decision && call.caller !== undefined) onBan?.(call.caller);
      throw limitError(attempt, decision);
    }
  };
  const peek = async (call: Call, attempt: Attempt): Promise<Verdict> => {
    const verdict = await limiter.peek(attempt);
    setHeaders(call, verdict);
    return verdict;
  };

  return {
    interceptor: {
      name: 'limits',
      after: { authentication: 'a request counts against the account of its caller' },
      async intercept(call, next) {
        if (call.caller === undefined) throw new Error('a call reached the limits without a caller');
        const attempt = accountAttempt(call.caller, nowMs());
        const { counting } = call.operation;
        if (counting === 'always') await count(call, attempt);
        else if (!(await peek(call, attempt)).allowed && counting === 'refusals') await count(call, attempt);
        return next(call);
      },
    },
    anonymous: anonymousLimits(count, peek, nowMs),
  };
}

function anonymousLimits(
  count: (call: Call, attempt: Attempt) => Promise<void>,
  peek: (call: Call, attempt: Attempt) => Promise<Verdict>,
  nowMs: () => number,
): AnonymousLimits {
  const addressAttempt = (call: Call): AddressAttempt => ({
    kind: 'address',
    address: addressOf(call),
    nowMs: nowMs(),
  });
  /** The calls with a reservation, each with its address. */
  const reserved = new Map<Call, string>();
  const lookUps = new InFlightCounter();

  return {
    async count(call) {
      const attempt = addressAttempt(call);
      if (call.operation.counting === 'never') await peek(call, attempt);
      else await count(call, attempt);
    },

    async reserve(call) {
      const attempt = addressAttempt(call);
      const { address } = attempt;
      const inFlight = lookUps.increment(address);
      reserved.set(call, address);
      const verdict = await peek(call, attempt);
      if (verdict.remaining >= inFlight) return;
      const retryAfterSeconds = verdict.allowed ? 1 : verdict.retryAfterSeconds;
      throw limitError(attempt, { ...verdict, allowed: false, retryAfterSeconds });
    },

    async show(call) {
      if (!reserved.has(call)) await peek(call, addressAttempt(call)); // `reserve` has set the headers
    },

    release(call) {
      const address = reserved.get(call);
      if (address === undefined) return;
      reserved.delete(call);
      lookUps.decrement(address);
    },
  };
}

function accountAttempt({ accountId, keyId, quota }: Caller, nowMs: number): Attempt {
  return { kind: 'account', accountId, keyId, quota, nowMs };
}

function setHeaders({ responseHeaders }: Call, { limit, remaining, resetAtSeconds }: Reading): void {
  responseHeaders.set('x-ratelimit-limit', String(limit));
  responseHeaders.set('x-ratelimit-remaining', String(remaining));
  responseHeaders.set('x-ratelimit-reset', String(resetAtSeconds));
}

function limitError(attempt: Attempt, decision: Extract<Decision, { allowed: false }>): ApiError {
  const { retryAfterSeconds } = decision;
  const options = { retryAfterSeconds, quotaSubject: subjectName(attempt) };
  if ('bannedUntilMs' in decision) return apiError('API_KEY_BANNED', { retryAfterSeconds }, options);
  return apiError('RATE_LIMITED', decision, options);
}
