/** The counts of all accounts that were active today, in memory, and the totals that are not stored yet. */
import type { AccountId, DayUsage, KeyId } from '../model.ts';
import type { KeyUse } from './limiter.ts';
import { type Counter, dayIndexAt, newCounter } from './windows.ts';

/** One account on one day. */
export interface AccountDay {
  readonly accountId: AccountId;
  counter: Counter;
  refused: number;
  /** Whether it has changed since the last drain. */
  isChanged: boolean;
  lastSeen: LastSeen;
  /** The last merge round in which it was sent to Redis; undefined if it never was. */
  mergeRound?: number;
}

/** The counts that were last read from Redis or from the database; all zero if none were. */
export interface LastSeen {
  readonly counter: Readonly<Counter>;
  readonly refused: number;
  /**
   * The epoch of the account's data in Redis, '' if it was not read from there. It changes when Redis loses its data.
   */
  readonly epoch: string;
  /** How much of the minute and of the day this server itself has counted in Redis. */
  readonly ownMinute: number;
  readonly ownDay: number;
}

/** The previous day is kept as well: a clock that was wrong about the day returns to it. */
export class AccountCounters {
  #dayIndex = Number.NEGATIVE_INFINITY;
  #current = new Map<AccountId, AccountDay>();
  #previous = { dayIndex: Number.NEGATIVE_INFINITY, accounts: new Map<AccountId, AccountDay>() };
  #changed: AccountDay[] = [];
  /** When keys were last used, since the last drain. */
  #keyUses = new Map<KeyId, number>();

  get size(): number {
    return this.#current.size;
  }

  /** Returns all accounts that were active on the day of `nowMs`. */
  ofDay(nowMs: number): ReadonlyMap<AccountId, AccountDay> {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#current;
  }

  getOrAdd(accountId: AccountId, nowMs: number): AccountDay {
    return this.ofDay(nowMs).get(accountId) ?? this.#add(accountId, nowMs);
  }

  /** Returns the account's counter; if it has none, a new one that is not kept. */
  counterOf(accountId: AccountId, nowMs: number): Counter {
    return this.ofDay(nowMs).get(accountId)?.counter ?? newCounter(nowMs);
  }

  markChanged(account: AccountDay): void {
    if (account.isChanged) return;
    account.isChanged = true;
    this.#changed.push(account);
  }

  recordKeyUse(keyId: KeyId, nowMs: number): void {
    this.#keyUses.set(keyId, nowMs);
  }

  drainKeyUses(): KeyUse[] {
    const uses = this.#keyUses;
    this.#keyUses = new Map();
    return [...uses].map(([keyId, atMs]) => ({ keyId, atMs }));
  }

  drain(): DayUsage[] {
    const changed = this.#changed;
    this.#changed = [];
    return changed.map((account) => {
      account.isChanged = false;
      const { accountId, counter, refused } = account;
      return { accountId, dayIndex: counter.dayIndex, requests: counter.dayCount, refused };
    });
  }

  /** Restores a day's totals, unless that day has ended. */
  restore({ accountId, dayIndex, requests, refused }: DayUsage, nowMs: number): void {
    if (dayIndex !== dayIndexAt(nowMs)) return;
    const account = this.getOrAdd(accountId, nowMs);
    account.counter.dayCount = requests;
    account.refused = refused;
    account.lastSeen = { ...account.lastSeen, counter: { ...account.counter }, refused };
  }

  #add(accountId: AccountId, nowMs: number): AccountDay {
    const counter = newCounter(nowMs);
    const lastSeen = { counter: { ...counter }, refused: 0, epoch: '', ownMinute: 0, ownDay: 0 };
    const account: AccountDay = { accountId, counter, refused: 0, isChanged: false, lastSeen };
    this.#current.set(accountId, account);
    return account;
  }

  #enterDay(dayIndex: number): void {
    if (dayIndex === this.#dayIndex) return;
    const left = { dayIndex: this.#dayIndex, accounts: this.#current };
    this.#current = dayIndex === this.#previous.dayIndex ? this.#previous.accounts : new Map();
    [this.#previous, this.#dayIndex] = [left, dayIndex];
  }
}
