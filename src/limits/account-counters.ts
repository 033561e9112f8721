/** The accounts of the current day in memory, with the totals that wait to be stored. */
import type { KeyUse, UsageRow } from './limiter.ts';
import { type Counter, dayIndexAt, newCounter } from './windows.ts';

/** An account in one day. */
export interface AccountDay {
  readonly subject: string;
  counter: Counter;
  refused: number;
  /** Changed since the last drain. */
  isChanged: boolean;
  /** What a shared engine last said of it, or the database; nothing, if neither did. */
  lastSeen: LastSeen;
  /** The absence of that engine after which it was told of this account. */
  mergedAfter?: number;
}

/** An account's counts in a shared engine. */
export interface LastSeen {
  readonly counter: Readonly<Counter>;
  readonly refused: number;
  /** Another one says that the engine has lost its data; '' is none. */
  readonly epoch: string;
  /** How much of the minute and of the day this server has counted itself. */
  readonly ownMinute: number;
  readonly ownDay: number;
}

type Day = ReadonlyMap<string, AccountDay>;

/**
 * The accounts seen today, and those whose totals wait to be drained. The day that was left last is kept as well: a
 * clock that was wrong about the day comes back to it.
 */
export class AccountCounters {
  #dayIndex = Number.NEGATIVE_INFINITY;
  #today = new Map<string, AccountDay>();
  #left = { dayIndex: Number.NEGATIVE_INFINITY, accounts: new Map<string, AccountDay>() };
  #changed: AccountDay[] = [];
  /** When keys were last used, since the last drain. */
  #keyUses = new Map<string, number>();

  get size(): number {
    return this.#today.size;
  }

  /** All accounts seen on the day of this moment. */
  today(nowMs: number): Day {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#today;
  }

  open(subject: string, nowMs: number): AccountDay {
    return this.today(nowMs).get(subject) ?? this.#add(subject, nowMs);
  }

  /** The account's counter, or a passing one that is not kept: reading leaves no trace. */
  read(subject: string, nowMs: number): Counter {
    return this.today(nowMs).get(subject)?.counter ?? newCounter(nowMs);
  }

  markChanged(account: AccountDay): void {
    if (account.isChanged) return;
    account.isChanged = true;
    this.#changed.push(account);
  }

  noteUse(key: string, nowMs: number): void {
    this.#keyUses.set(key, nowMs);
  }

  drainKeyUses(): KeyUse[] {
    const uses = this.#keyUses;
    this.#keyUses = new Map();
    return [...uses].map(([key, atMs]) => ({ key, atMs }));
  }

  drain(): UsageRow[] {
    const changed = this.#changed;
    this.#changed = [];
    return changed.map((account) => {
      account.isChanged = false;
      const { subject, counter, refused } = account;
      return { subject, dayIndex: counter.dayIndex, requests: counter.dayCount, refused };
    });
  }

  /** Takes up a day's totals, unless that day is over. */
  restore({ subject, dayIndex, requests, refused }: UsageRow, nowMs: number): AccountDay | undefined {
    if (dayIndex !== dayIndexAt(nowMs)) return undefined;
    const account = this.open(subject, nowMs);
    account.counter.dayCount = requests;
    account.refused = refused;
    account.lastSeen = { ...account.lastSeen, counter: { ...account.counter }, refused };
    return account;
  }

  #add(subject: string, nowMs: number): AccountDay {
    const counter = newCounter(nowMs);
    const lastSeen = { counter: { ...counter }, refused: 0, epoch: '', ownMinute: 0, ownDay: 0 };
    const account: AccountDay = { subject, counter, refused: 0, isChanged: false, lastSeen };
    this.#today.set(subject, account);
    return account;
  }

  #enterDay(dayIndex: number): void {
    if (dayIndex === this.#dayIndex) return;
    const left = { dayIndex: this.#dayIndex, accounts: this.#today };
    this.#today = dayIndex === this.#left.dayIndex ? this.#left.accounts : new Map();
    [this.#left, this.#dayIndex] = [left, dayIndex];
  }
}
