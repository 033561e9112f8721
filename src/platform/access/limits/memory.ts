/**
 * The limits of one process, in memory.
 *
 * Algorithm: fixed windows (`windows.ts`) and a sliding count of refusals (`ban-tracker.ts`). A decision is
 * synchronous, so that no other request can come between its reading and its counting: that makes it exact.
 *
 * Memory: all addresses are dropped when a minute begins, all accounts after three days. Anybody can use many
 * addresses, so at most `maxAddresses` of them have counters of their own until the minute ends. The requests of all
 * others share one: a flood of addresses can turn the 401 of a new address into a 429. Their guesses of keys are not
 * counted, since one of them may be the first use of a valid key.
 *
 * A crash loses the minute's counts. The owner stores the day's (`drain`) and the bans that begin, and restores them.
 */
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import { createBanTracker } from './ban-tracker.ts';
import type { Attempt, Limiter, LimiterOptions, Outcome, Subject } from './limiter.ts';
import { subjectName, toDecision } from './limiter.ts';
import {
  add,
  type Counter,
  copyOf,
  dayIndexAt,
  dayStartMs,
  enterWindows,
  hasRoom,
  minuteIndexAt,
  newCounter,
  readDay,
  restoreDay,
} from './windows.ts';

/** What the addresses beyond `maxAddresses` count under. */
const OTHERS: Subject = { kind: 'address', address: 'others' };

export function createMemoryLimiter(options: LimiterOptions) {
  const { maxAddresses = 100_000 } = options;
  // With the days beside today: counts go on when a clock that was a day wrong is right again.
  const accounts = windows(dayIndexAt, 3);
  const addresses = windows(minuteIndexAt, 1);
  const bans = createBanTracker(options.ban);
  /** The counters that have changed since the last drain. */
  let changed = new Map<Counter, AccountId>();
  /** When keys were last used, since the last drain. */
  let keyUses = new Map<KeyId, number>();

  /** Returns what a subject counts under: itself, or if it is one too many under all others; its guesses never. */
  function counted(subject: Subject, nowMs: number): Subject | undefined {
    if (subject.kind === 'account') return subject;
    const tracked = addresses(nowMs);
    if (tracked.size < maxAddresses || tracked.has(subjectName(subject))) return subject;
    return subject.kind === 'guesses' ? undefined : OTHERS;
  }

  /** Returns the subject's counter in the windows of now. A new one is kept if it is to be changed, and counted. */
  function find(subject: Subject, nowMs: number, isToChange = false): Counter {
    const counters = (subject.kind === 'account' ? accounts : addresses)(nowMs);
    const under = counted(subject, nowMs);
    const counter = (under && counters.get(subjectName(under))) ?? newCounter(nowMs);
    if (isToChange && under !== undefined) counters.set(subjectName(under), counter);
    enterWindows(counter, nowMs);
    return counter;
  }

  /** Returns the counter of a request, to be changed. */
  function use(attempt: Attempt, nowMs: number): Counter {
    // The minute of addresses is that of this server, also when Redis's time counts.
    const counter = find(attempt, attempt.kind === 'account' ? nowMs : attempt.nowMs, true);
    if (attempt.kind === 'account') changed.set(counter, attempt.accountId);
    if (attempt.keyId !== undefined) keyUses.set(attempt.keyId, nowMs);
    return counter;
  }

  /** Counts a request if it is admitted, as `admit` does. */
  function count(attempt: Attempt): Outcome {
    const { nowMs, keyId, quota } = attempt;
    const banEndMs = keyId === undefined ? 0 : bans.bannedUntil(keyId, nowMs);
    const counter = use(attempt, nowMs);
    if (banEndMs === 0 && hasRoom(counter, quota)) {
      add(counter);
      return { status: 'admitted', counter, bannedUntilMs: 0, nowMs };
    }
    counter.refused += 1;
    if (banEndMs > 0) return { status: 'banned', counter, bannedUntilMs: banEndMs, nowMs };
    const bannedUntilMs = keyId === undefined ? 0 : bans.recordRefusal(keyId, nowMs);
    return { status: 'refused', counter, bannedUntilMs, nowMs };
  }

  return {
    count,
    admit: (attempt) => toDecision(attempt, count(attempt), options),
    peek(attempt) {
      const { nowMs, keyId } = attempt;
      const bannedUntilMs = keyId === undefined ? 0 : bans.bannedUntil(keyId, nowMs);
      const status = bannedUntilMs > 0 ? 'banned' : 'seen';
      return toDecision(attempt, { status, counter: find(attempt, nowMs), bannedUntilMs, nowMs }, options);
    },
    countEventStreams: () => true,
    now: Date.now,
    unban(_accountId, keyId) {
      bans.forget(keyId);
      return true;
    },
    /**
     * Returns a copy of what is known of a subject and, with a key, the end of the key's last ban; undefined for one
     * that is not counted. Addresses may share a subject, and are kept from then on, so that many at once are bounded.
     */
    known(asked: Subject & { readonly keyId?: KeyId }, nowMs: number) {
      const subject = counted(asked, nowMs);
      if (subject === undefined) return undefined;
      const counter = copyOf(find(asked, nowMs, asked.kind !== 'account'));
      const lastBanEndMs = asked.keyId === undefined ? 0 : bans.lastEnd(asked.keyId);
      return { subject, counter, lastBanEndMs };
    },
    /** Replaces what is known of the subject and the key. */
    learn(attempt: Attempt, { counter, bannedUntilMs, nowMs }: Outcome): void {
      Object.assign(use(attempt, nowMs), copyOf(counter));
      if (attempt.keyId === undefined) return;
      if (bannedUntilMs > 0) bans.restore(attempt.keyId, bannedUntilMs, nowMs);
      else bans.forget(attempt.keyId);
    },
    drain() {
      const usage = [...changed].map(([counter, accountId]) => ({ accountId, ...readDay(counter) }));
      const drained = { usage, keyUses: [...keyUses].map(([keyId, lastUsedAtMs]) => ({ keyId, lastUsedAtMs })) };
      [changed, keyUses] = [new Map(), new Map()];
      return drained;
    },
    restoreUsage(rows) {
      for (const { accountId, dayIndex, ...day } of rows)
        restoreDay(find({ kind: 'account', accountId }, dayStartMs(dayIndex), true), day);
    },
    restoreBans(restored) {
      for (const { keyId, untilMs } of restored) bans.restore(keyId, untilMs, 0);
    },
    close: async () => undefined,
  } satisfies Limiter & Record<string, unknown>;
}

/** Counters by subject, in the last `kept` windows that were entered. Returns those of the window at a time. */
function windows(indexAt: (nowMs: number) => number, kept: number): (nowMs: number) => Map<string, Counter> {
  const entered = new Map<number, Map<string, Counter>>();
  return (nowMs) => {
    const index = indexAt(nowMs);
    const counters = entered.get(index) ?? new Map<string, Counter>();
    entered.set(index, counters);
    const [oldest] = entered.size > kept ? entered.keys() : [];
    if (oldest !== undefined) entered.delete(oldest);
    return counters;
  };
}
