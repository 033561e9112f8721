/** The counts of all accounts that were active today, in memory, and the totals that are not stored yet. */
import type { AccountId, DayUsage, KeyId, KeyUse } from '../model.ts';
import type { Used } from './limiter.ts';
import { type Counter, dayIndexAt, dayStartMs, newCounter } from './windows.ts';

/** One account on one day. */
interface AccountDay extends Used {
  readonly accountId: AccountId;
  readonly counter: Counter;
  refused: number;
  /** Whether it has changed since the last drain. */
  isChanged: boolean;
}

/** The day before is kept as well: around midnight the clocks of Redis and this server may disagree about the day. */
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

  /** Returns the account's day, to be changed. */
  change(accountId: AccountId, nowMs: number): AccountDay {
    const account = this.#getOrAdd(accountId, nowMs);
    if (!account.isChanged) this.#changed.push(account);
    account.isChanged = true;
    return account;
  }

  /** Restores a day's totals, which are stored already. */
  restore({ accountId, dayIndex, requests, refused }: DayUsage): void {
    const account = this.#getOrAdd(accountId, dayStartMs(dayIndex));
    account.counter.dayCount = requests;
    account.refused = refused;
  }

  /** Returns what the account has used; if it is not known, a new counter that is not kept. */
  find(accountId: AccountId, nowMs: number): { readonly counter: Counter; readonly refused: number } {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#current.get(accountId) ?? { counter: newCounter(nowMs), refused: 0 };
  }

  recordKeyUse(keyId: KeyId, nowMs: number): void {
    this.#keyUses.set(keyId, nowMs);
  }

  drainKeyUses(): KeyUse[] {
    const uses = this.#keyUses;
    this.#keyUses = new Map();
    return [...uses].map(([keyId, lastUsedAtMs]) => ({ keyId, lastUsedAtMs }));
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

  #getOrAdd(accountId: AccountId, nowMs: number): AccountDay {
    this.#enterDay(dayIndexAt(nowMs));
    const existing = this.#current.get(accountId);
    if (existing !== undefined) return existing;
    const account = { accountId, counter: newCounter(nowMs), refused: 0, isChanged: false };
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
