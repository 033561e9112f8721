/**
 * Counts each request against its account, or against its IP address when it has no valid key, and shows what is left.
 *
 * The numbers are left in `responseHeaders`, so that every response carries them, a refusal by anybody behind too.
 */

import { apiError } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import { steadyClock } from '../limits/clock.ts';
import type { Attempt, Decision, Limiter } from '../limits/limiter.ts';
import type { Reading, Verdict } from '../limits/windows.ts';
import { addressOf } from './address.ts';
import type { Call, Interceptor } from './chain.ts';
import { InFlightCounter } from './in-flight-counter.ts';

/** The limits of requests without a valid key, by IP address. */
export interface AnonymousLimits {
  /** Counts a request against its address. Rejects with 429 past the limit. */
  count(call: Call): Promise<void>;
  /**
   * Asks whether the key of a request may be looked up. Rejects with 429 when its address has used up its limit, or
   * would with the look-ups that are under way: so there are never more look-ups than the limit allows.
   */
  reserve(call: Call): Promise<void>;
  /**
   * Shows the limits of the address of a request whose key is being looked up: the response needs some when the look-up
   * fails, or takes longer than the caller waits.
   */
  show(call: Call): Promise<void>;
  /** Ends the reservation of a request, if it has one. */
  release(call: Call): void;
}

export interface Limits {
  readonly interceptor: Interceptor;
  readonly anonymous: AnonymousLimits;
}

/** `onBan` is told whose key is banned from now on. */
export function limits(
  limiter: Limiter,
  { nowMs = steadyClock(), onBan }: { readonly nowMs?: () => number; readonly onBan?: (caller: Caller) => void } = {},
): Limits {
  const count = async (call: Call, attempt: Attempt): Promise<void> => {
    const pending = limiter.admit(attempt);
    const decision = pending instanceof Promise ? await pending : pending;
    show(call, decision);
    if (!decision.allowed) {
      if ('beginsBan' in decision && call.caller !== undefined) onBan?.(call.caller);
      throw refusal(attempt, decision);
    }
  };
  const look = async (call: Call, attempt: Attempt): Promise<Verdict> => {
    const verdict = await limiter.peek(attempt);
    show(call, verdict);
    return verdict;
  };

  return {
    interceptor: {
      name: 'limits',
      after: { authentication: 'a request counts against the account that it comes from' },
      async intercept(call, next) {
        if (call.caller === undefined) throw new Error('a call came to the limits without a caller');
        const attempt = toAttempt(call.caller, nowMs());
        const { counting } = call.operation;
        if (counting === 'always') await count(call, attempt);
        else if (!(await look(call, attempt)).allowed && counting === 'refusals') await count(call, attempt);
        return next(call);
      },
    },
    anonymous: anonymousLimits(count, look, nowMs),
  };
}

function anonymousLimits(
  count: (call: Call, attempt: Attempt) => Promise<void>,
  look: (call: Call, attempt: Attempt) => Promise<Verdict>,
  nowMs: () => number,
): AnonymousLimits {
  const toAddressAttempt = (call: Call) => ({ kind: 'address', subject: addressOf(call), nowMs: nowMs() }) as const;
  /** The address of each request whose key is being looked up, and how many such requests an address has. */
  const reserved = new Map<Call, string>();
  const inFlight = new InFlightCounter();

  return {
    async count(call) {
      const attempt = toAddressAttempt(call);
      if (call.operation.counting === 'never') await look(call, attempt);
      else await count(call, attempt);
    },

    async reserve(call) {
      const attempt = toAddressAttempt(call);
      const { subject } = attempt;
      const place = inFlight.increment(subject);
      reserved.set(call, subject);
      const verdict = await look(call, attempt);
      if (verdict.remaining >= place) return;
      const retryAfterSeconds = verdict.allowed ? 1 : verdict.retryAfterSeconds;
      throw refusal(attempt, { ...verdict, allowed: false, retryAfterSeconds });
    },

    async show(call) {
      if (!reserved.has(call)) await look(call, toAddressAttempt(call)); // a reservation shows them too
    },

    release(call) {
      const subject = reserved.get(call);
      if (subject === undefined) return;
      reserved.delete(call);
      inFlight.decrement(subject);
    },
  };
}

function toAttempt({ accountId, keyId, quota }: Caller, nowMs: number): Attempt {
  return { kind: 'account', subject: String(accountId), key: String(keyId), quota, nowMs };
}

function show({ responseHeaders }: Call, { limit, remaining, resetAtSeconds }: Reading): void {
  responseHeaders.set('x-ratelimit-limit', String(limit));
  responseHeaders.set('x-ratelimit-remaining', String(remaining));
  responseHeaders.set('x-ratelimit-reset', String(resetAtSeconds));
}

function refusal({ kind, subject }: Attempt, decision: Extract<Decision, { allowed: false }>) {
  const { retryAfterSeconds } = decision;
  const options = { retryAfterSeconds, quotaSubject: `${kind}:${subject}` };
  if ('bannedUntilMs' in decision) return apiError('API_KEY_BANNED', { retryAfterSeconds }, options);
  return apiError('RATE_LIMITED', decision, options);
}
