/** The counts of all accounts that were active today, in memory, and what is not stored yet. */
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { DayUsage } from '../tables/model.ts';
import type { Drained } from './limiter.ts';
import { type Counter, dayIndexAt, dayStartMs, newCounter } from './windows.ts';

/** The day before is kept as well: around midnight the clocks of Redis and this server may disagree about the day. */
export class AccountCounters {
  #dayIndex = Number.NEGATIVE_INFINITY;
  #current = new Map<AccountId, Counter>();
  #previous = { dayIndex: Number.NEGATIVE_INFINITY, counters: new Map<AccountId, Counter>() };
  /** The counters that have changed since the last drain. */
  #changed = new Map<Counter, AccountId>();
  /** When keys were last used, since the last drain. */
  #keyUses = new Map<KeyId, number>();

  get size(): number {
    return this.#current.size;
  }

  /** Returns the account's counter, to be changed by a request with this key. */
  change(accountId: AccountId, keyId: KeyId, nowMs: number): Counter {
    const counter = this.#getOrAdd(accountId, nowMs);
    this.#changed.set(counter, accountId);
    this.#keyUses.set(keyId, nowMs);
    return counter;
  }

  /** Restores a day's totals, which are stored already. */
  restore({ accountId, dayIndex, requests, refused }: DayUsage): void {
    Object.assign(this.#getOrAdd(accountId, dayStartMs(dayIndex)), { dayCount: requests, refused });
  }

  /** Returns the account's counter; if it has none, a new one that is not kept. */
  find(accountId: AccountId, nowMs: number): Counter {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#current.get(accountId) ?? newCounter(nowMs);
  }

  drain(): Drained {
    const [changed, used] = [this.#changed, this.#keyUses];
    [this.#changed, this.#keyUses] = [new Map(), new Map()];
    const usage = [...changed].map(([{ dayIndex, dayCount: requests, refused }, accountId]) => {
      return { accountId, dayIndex, requests, refused };
    });
    return { usage, keyUses: [...used].map(([keyId, lastUsedAtMs]) => ({ keyId, lastUsedAtMs })) };
  }

  #getOrAdd(accountId: AccountId, nowMs: number): Counter {
    const counter = this.find(accountId, nowMs);
    this.#current.set(accountId, counter);
    return counter;
  }

  #enterDay(dayIndex: number): void {
    if (dayIndex === this.#dayIndex) return;
    const left = { dayIndex: this.#dayIndex, counters: this.#current };
    this.#current = dayIndex === this.#previous.dayIndex ? this.#previous.counters : new Map();
    [this.#previous, this.#dayIndex] = [left, dayIndex];
  }
}
