/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`ban-tracker.ts`). A decision is
 * synchronous, so that no other request can come between its reading and its counting: that makes it exact.
 *
 * Memory: fixed windows end for all at once, so nothing has to be swept. All addresses are dropped when a minute
 * begins, all accounts after three days. The operator decides how many accounts there are. Anybody can use many
 * addresses, so at most `maxTracked` of them have counters of their own; all others share one until the minute ends.
 * A flood of addresses can turn the 401 of a new address into a 429, but grants no address more requests than its quota
 * and does not affect callers with a valid key.
 *
 * Failure: nothing here can fail. For a crash, the owner stores the day's counts (`drain`, twice a second) and the
 * bans that begin, and restores them at the start. The minute's counts start from zero.
 */
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import { BanTracker } from './ban-tracker.ts';
import {
  type Attempt,
  type Counts,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Outcome,
  quotaOf,
  type State,
  type Subject,
  toDecision,
  toPeek,
} from './limiter.ts';
import {
  type Counter,
  countRequest,
  dayIndexAt,
  dayStartMs,
  enterMinute,
  minuteIndexAt,
  newCounter,
  type Verdict,
} from './windows.ts';

/** The name that the addresses beyond `maxTracked` share. */
const OTHERS = 'others';

/** What a server knows when it asks Redis. */
export interface Known {
  /** The subject that the request counts under: addresses may share one. */
  readonly subject: Subject;
  readonly counter: Readonly<Counter>;
  /** The end of the key's last ban; 0 without a key or a ban. */
  readonly lastBanEndMs: number;
}

export interface MemoryLimiter extends Limiter {
  admit(attempt: Attempt): Decision;
  peek(attempt: Attempt): Verdict;
  counts(accountId: AccountId, nowMs: number): Counts;
  unban(accountId: AccountId, keyId: KeyId): boolean;
  /** Counts a request if it is admitted, as `admit` does. */
  count(attempt: Attempt): Outcome;
  /** Returns a copy of what is known. */
  known(subject: Subject & { readonly keyId?: KeyId }, nowMs: number): Known;
  /** Replaces what is known of the subject and the key. */
  learn(attempt: Attempt, learned: State): void;
}

export function createMemoryLimiter(options: LimiterOptions): MemoryLimiter {
  const { maxTracked } = options.addresses;
  // With the days beside today: counts go on when a clock that was a day wrong is right again.
  const accounts = new Windows<AccountId, Counter>(dayIndexAt, 3);
  const addresses = new Windows<string, Counter>(minuteIndexAt, 1);
  const bans = new BanTracker(options.ban);
  /** The counters that have changed since the last drain. */
  let changed = new Map<Counter, AccountId>();
  /** When keys were last used, since the last drain. */
  let keyUses = new Map<KeyId, number>();

  /** Returns the name that an address counts under: its own, or that of all others. */
  function nameOf(address: string, nowMs: number): string {
    const known = addresses.at(nowMs);
    return known.size < maxTracked || known.has(address) ? address : OTHERS;
  }

  /** Returns the subject's counter in the windows of now; if it has none, a new one that is not kept. */
  function find(subject: Subject, nowMs: number): Counter {
    const found =
      subject.kind === 'account'
        ? accounts.at(nowMs).get(subject.accountId)
        : addresses.at(nowMs).get(nameOf(subject.address, nowMs));
    const counter = found ?? newCounter(nowMs);
    enterMinute(counter, nowMs);
    return counter;
  }

  /** Returns the subject's counter, to be changed. */
  function keep(subject: Subject, nowMs: number): Counter {
    const counter = find(subject, nowMs);
    if (subject.kind === 'account') accounts.at(nowMs).set(subject.accountId, counter);
    else addresses.at(nowMs).set(nameOf(subject.address, nowMs), counter);
    return counter;
  }

  /** Returns the counter of a request, to be changed. */
  function use(attempt: Attempt, nowMs: number): Counter {
    // The minute of addresses is that of this server, also when Redis's time counts.
    if (attempt.kind === 'address') return keep(attempt, attempt.nowMs);
    const counter = keep(attempt, nowMs);
    changed.set(counter, attempt.accountId);
    keyUses.set(attempt.keyId, nowMs);
    return counter;
  }

  function count(attempt: Attempt): Outcome {
    const { nowMs } = attempt;
    const banEndMs = attempt.kind === 'account' ? bans.bannedUntil(attempt.keyId, nowMs) : 0;
    const counter = use(attempt, nowMs);
    const status = banEndMs > 0 ? 'banned' : countRequest(counter, quotaOf(attempt, options)) ? 'admitted' : 'refused';
    if (status === 'admitted') return { status, counter, bannedUntilMs: 0, nowMs };
    counter.refused += 1;
    if (status === 'banned') return { status, counter, bannedUntilMs: banEndMs, nowMs };
    const bannedUntilMs = attempt.kind === 'account' ? bans.recordRefusal(attempt.keyId, nowMs) : 0;
    return { status, counter, bannedUntilMs, nowMs };
  }

  return {
    count,
    admit: (attempt) => toDecision(attempt, count(attempt), options),
    peek: (attempt) => toPeek(attempt, { counter: find(attempt, attempt.nowMs), nowMs: attempt.nowMs }, options),
    countStreams: () => true,
    now: Date.now,
    counts: (accountId, nowMs) => ({ counter: { ...find({ kind: 'account', accountId }, nowMs) }, isLocal: false }),
    unban(_accountId, keyId) {
      bans.forget(keyId);
      return true;
    },
    known(subject, nowMs) {
      if (subject.kind === 'account') {
        const lastBanEndMs = subject.keyId === undefined ? 0 : bans.lastEnd(subject.keyId);
        return { subject, counter: { ...find(subject, nowMs) }, lastBanEndMs };
      }
      const counter = { ...keep(subject, nowMs) }; // kept, so that many at once are bounded
      return { subject: { kind: 'address', address: nameOf(subject.address, nowMs) }, counter, lastBanEndMs: 0 };
    },
    learn(attempt, { counter, bannedUntilMs, nowMs }) {
      Object.assign(use(attempt, nowMs), counter);
      if (attempt.kind === 'address') return;
      if (bannedUntilMs > 0) bans.restore(attempt.keyId, bannedUntilMs, nowMs);
      else bans.forget(attempt.keyId);
    },
    drain() {
      const usage = [...changed].map(([{ dayIndex, dayCount: requests, refused }, accountId]) => {
        return { accountId, dayIndex, requests, refused };
      });
      const drained = { usage, keyUses: [...keyUses].map(([keyId, lastUsedAtMs]) => ({ keyId, lastUsedAtMs })) };
      [changed, keyUses] = [new Map(), new Map()];
      return drained;
    },
    restoreUsage(rows) {
      for (const { accountId, dayIndex, requests, refused } of rows) {
        const counter = keep({ kind: 'account', accountId }, dayStartMs(dayIndex));
        Object.assign(counter, { dayCount: requests, refused });
      }
    },
    restoreBans(restored) {
      for (const { keyId, untilMs } of restored) bans.restore(keyId, untilMs, 0);
    },
    close: async () => undefined,
  };
}

/** Values by key, in the last `kept` windows that were entered. */
class Windows<Key, Value> {
  readonly #indexAt: (nowMs: number) => number;
  readonly #kept: number;
  readonly #windows = new Map<number, Map<Key, Value>>();

  constructor(indexAt: (nowMs: number) => number, kept: number) {
    this.#indexAt = indexAt;
    this.#kept = kept;
  }

  /** Returns the values of the window at this time. */
  at(nowMs: number): Map<Key, Value> {
    const index = this.#indexAt(nowMs);
    const found = this.#windows.get(index);
    if (found !== undefined) return found;
    const values = new Map<Key, Value>();
    this.#windows.set(index, values);
    const [oldest] = this.#windows.size > this.#kept ? this.#windows.keys() : [];
    if (oldest !== undefined) this.#windows.delete(oldest);
    return values;
  }
}
