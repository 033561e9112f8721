/**
 * Counts each request against its account or, without a valid key, its IP address, and bounds what both have open.
 *
 * The numbers go into `responseHeaders`, so every response has them, including an error from further down the chain.
 */
import { type Quota, WINDOWS } from '../../config/plans.ts';
import { ApiError, apiError, tooFast } from '../../errors.ts';
import type { Caller } from '../../rpc/caller.ts';
import type { Call } from '../../rpc/chain.ts';
import type { OpenCalls } from '../../rpc/open-calls.ts';
import type { Ban } from '../tables/bans.ts';
import { createAllowance } from './allowance.ts';
import { type Attempt, type Decision, type Limiter, type Subject, subjectName } from './limiter.ts';
import { secondsUntil } from './windows.ts';

interface LimitsOptions {
  /** Bounds the open calls of accounts and addresses. Both throw RATE_LIMITED past the share. */
  readonly shares: Pick<OpenCalls, 'holdForAddress' | 'holdForAccount'>;
  /** Stores and counts the ban of a caller's key that a request begins. It must neither wait nor throw. */
  readonly onBan: (ban: Ban, caller: Caller) => void;
  /** How many requests without a valid key an address may make per minute, and as many guesses of keys. */
  readonly addressPerMinute: number;
}

/** An address has a limit for the shortest window alone. */
const UNLIMITED = Object.fromEntries(WINDOWS.map(({ quota }) => [quota, Number.POSITIVE_INFINITY])) as unknown as Quota;

/**
 * How often an account may be refused a stream of events too many: at once, and in each second after. Clients that wait
 * for Retry-After come nowhere near it. What is beyond counts nothing either, but Envoy learns of it.
 */
const [REFUSED_BURST, REFUSED_PER_SECOND] = [60, 10];

export type RequestLimits = ReturnType<typeof requestLimits>;

export function requestLimits(limiter: Limiter, { shares, onBan, addressPerMinute }: LimitsOptions) {
  const addressQuota = { ...UNLIMITED, [WINDOWS[0].quota]: addressPerMinute };
  const attemptOf = (call: Call, kind: 'address' | 'guesses' = 'address'): Attempt => {
    return { kind, address: call.address, quota: addressQuota, ...momentOf(call) };
  };
  const count = (call: Call, attempt: Attempt): void | Promise<void> => {
    const obey = (decision: Decision) => {
      setHeaders(call, decision);
      if (decision.allowed) return;
      if (decision.begunBan !== undefined && call.caller !== undefined) onBan(decision.begunBan, call.caller);
      throw limitError(attempt, decision);
    };
    const decision = limiter.admit(attempt);
    return decision instanceof Promise ? decision.then(obey) : obey(decision);
  };
  const peek = async (call: Call, attempt: Attempt): Promise<Decision> => {
    const decision = await limiter.peek(attempt);
    setHeaders(call, decision);
    return decision;
  };
  const mayOpenInVain = createAllowance(REFUSED_BURST, REFUSED_PER_SECOND);
  /** Throws beyond the allowance of streams too many. It asks no limiter, or a flood would cost Redis as much. */
  const checkStreams = ({ responseHeaders }: Call, attempt: Attempt, takes: boolean): void => {
    const subject = subjectName(attempt);
    if (mayOpenInVain(subject, takes)) return;
    responseHeaders.set('x-ratelimit-reset', String(Math.floor(attempt.nowMs / 1_000) + 1));
    throw tooFast(REFUSED_BURST, REFUSED_PER_SECOND, subject);
  };
  /** Holds a share of the open calls. A refusal shows the limits like any response, and counts for nothing. */
  const hold = <T>(call: Call, attempt: Attempt, occupy: () => T | Promise<T>): T | Promise<T> => {
    const refuse = async (error: unknown): Promise<never> => {
      if (error instanceof ApiError && error.code === 'TOO_MANY_STREAMS') checkStreams(call, attempt, true);
      await peek(call, attempt);
      throw error;
    };
    try {
      const share = occupy();
      return share instanceof Promise ? share.catch(refuse) : share;
    } catch (error) {
      return refuse(error);
    }
  };
  return {
    /** Counts a request against the account of its caller. Throws or rejects beyond the limit. */
    countForAccount(call: Call, { accountId, keyId, quota }: Caller): void | Promise<void> {
      const attempt = { kind: 'account', accountId, keyId, quota, ...momentOf(call) } as const;
      const { counting, isEventStream } = call.operation;
      if (isEventStream) checkStreams(call, attempt, false);
      const countOrShow = async () => {
        const { allowed } = await peek(call, attempt); // one that is never counted has the headers too
        if (!allowed && counting === 'refusals') await count(call, attempt); // Judge
      };
      const next = () => (counting === 'always' ? count(call, attempt) : countOrShow());
      const holding = hold(call, attempt, () => shares.holdForAccount(call, accountId));
      return holding instanceof Promise ? holding.then(next) : next();
    },
    /** Counts a request against its address; a `guess` had a key of the right form. Rejects beyond the limit. */
    async countForAddress(call: Call, isGuess: boolean): Promise<void> {
      if (isGuess) await limiter.admit(attemptOf(call, 'guesses'));
      const attempt = attemptOf(call);
      if (call.operation.counting === 'never') await peek(call, attempt);
      else await count(call, attempt);
    },
    /** Sets the rate limit headers to the limits of the address. */
    async show(call: Call): Promise<void> {
      await peek(call, attemptOf(call));
    },
    /** Counts a call against its address until it ends or is released, by `what` it is. Rejects past the share. */
    holdForAddress: (call: Call, what: string) => hold(call, attemptOf(call), () => shares.holdForAddress(call, what)),
    /** Rejects past a minute's limit of wrong guesses. Requests without a key use up nothing of it. */
    async checkGuesses(call: Call): Promise<void> {
      const decision = await peek(call, attemptOf(call, 'guesses'));
      if (!decision.allowed) throw limitError(attemptOf(call), decision);
    },
  };
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
