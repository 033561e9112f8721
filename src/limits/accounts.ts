/** The accounts of the current day in memory, with the totals that wait to be stored. */
import type { UsageRow } from './limiter.ts';
import { type Counter, dayIndexAt, openCounter } from './windows.ts';

/** An account in one day. */
export interface AccountDay {
  readonly subject: string;
  readonly counter: Counter;
  refused: number;
  /** Changed since the last drain. */
  isChanged: boolean;
  /** What a shared engine last said of it, if there is one and it did. */
  heard?: Heard;
}

/** The part of an account's counts that a shared engine has too. */
export interface Heard {
  readonly life: string;
  readonly minuteIndex: number;
  readonly minuteCount: number;
  readonly dayCount: number;
  readonly refused: number;
}

/** The accounts seen today, and those whose totals wait to be drained: the last of yesterday may be among them. */
export class Accounts {
  #dayIndex = Number.NEGATIVE_INFINITY;
  #today = new Map<string, AccountDay>();
  #changed: AccountDay[] = [];

  get size(): number {
    return this.#today.size;
  }

  /** All accounts seen on the day of this moment. */
  today(nowMs: number): AccountDay[] {
    this.#enterDay(dayIndexAt(nowMs));
    return [...this.#today.values()];
  }

  open(subject: string, nowMs: number): AccountDay {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#today.get(subject) ?? this.#add(subject, nowMs);
  }

  /** The account's counter, or a passing one that is not kept: reading leaves no trace. */
  read(subject: string, nowMs: number): Counter {
    this.#enterDay(dayIndexAt(nowMs));
    return this.#today.get(subject)?.counter ?? openCounter(nowMs);
  }

  markChanged(account: AccountDay): void {
    if (account.isChanged) return;
    account.isChanged = true;
    this.#changed.push(account);
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

  /** Has totals drained that are of a day that is over here. */
  markLate(account: Omit<AccountDay, 'isChanged'>): void {
    this.#changed.push({ ...account, isChanged: true });
  }

  /** Takes up a day's totals, unless that day is over. */
  restore({ subject, dayIndex, requests, refused }: UsageRow, nowMs: number): AccountDay | undefined {
    if (dayIndex !== dayIndexAt(nowMs)) return undefined;
    const account = this.open(subject, nowMs);
    account.counter.dayCount = requests;
    account.refused = refused;
    return account;
  }

  #add(subject: string, nowMs: number): AccountDay {
    const account = { subject, counter: openCounter(nowMs), refused: 0, isChanged: false };
    this.#today.set(subject, account);
    return account;
  }

  #enterDay(dayIndex: number): void {
    if (dayIndex <= this.#dayIndex) return;
    this.#dayIndex = dayIndex;
    this.#today = new Map();
  }
}
