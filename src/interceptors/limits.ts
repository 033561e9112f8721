/**
 * Counts each request against its account, or against its IP address when it has no valid key, and shows what is left.
 *
 * The numbers are left in `responseHeaders`, so that every answer carries them, a refusal by anybody behind too.
 */
import { isIPv6 } from 'node:net';
import { apiError } from '../errors.ts';
import type { Attempt, Decision, Limiter } from '../limits/limiter.ts';
import type { Reading } from '../limits/windows.ts';
import type { Call, Caller, Interceptor } from './chain.ts';

export interface Limits {
  readonly interceptor: Interceptor;
  /** Counts a request without a valid key against its address; rejects with 429 past the limit. */
  readonly chargeStranger: (call: Call) => Promise<void>;
}

export function limits(limiter: Limiter, nowMs: () => number = Date.now): Limits {
  const charge = async (call: Call, attempt: Attempt): Promise<void> => {
    if (!call.operation.isCounted) return show(call, await limiter.peek(attempt));
    const pending = limiter.admit(attempt);
    const decision = pending instanceof Promise ? await pending : pending;
    show(call, decision);
    if (!decision.allowed) throw refusal(attempt, decision);
  };

  return {
    interceptor: {
      name: 'limits',
      after: { authentication: 'a request counts against the account that it comes from' },
      async intercept(call, next) {
        if (call.caller === undefined) throw new Error('a call came to the limits without a caller');
        await charge(call, toAttempt(call.caller, nowMs()));
        return next(call);
      },
    },
    chargeStranger: (call) => charge(call, { kind: 'address', subject: addressOf(call), nowMs: nowMs() }),
  };
}

function toAttempt({ accountId, keyId, quota }: Caller, nowMs: number): Attempt {
  return { kind: 'account', subject: String(accountId), key: String(keyId), quota, nowMs };
}

/**
 * The caller's address. Only Envoy, and whoever shares the machine with it, reaches the private port, so the
 * last entry of X-Forwarded-For, which Envoy adds, can be believed. What the caller wrote there comes before it.
 */
function addressOf({ metadata, peer }: Call): string {
  const forwarded = metadata.get('x-forwarded-for').at(-1);
  const last = typeof forwarded === 'string' ? forwarded.split(',').at(-1)?.trim() : undefined;
  return subjectOf(last || peer().replace(/:\d+$/, ''));
}

/** One caller has a whole /64 of IPv6 addresses: it counts as one. */
function subjectOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const zeros = tail === undefined ? [] : ['0', '0', '0', '0'];
  return `${[...groups, ...zeros].slice(0, 4).join(':')}::/64`;
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
