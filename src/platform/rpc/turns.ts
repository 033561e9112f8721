/**
 * Turns for work that takes long: to read a large message, and to find and write a page of a list. An account has so
 * much of it under way at once, in rows or what costs as much, and the rest waits. So the event loop and the database
 * come to the calls of others after some milliseconds. While there are others any read takes a turn: hundreds of small
 * ones keep them waiting too.
 */
import type { AccountId } from './caller.ts';

/** Six pages of 100, or 32 of 20: as many as share a statement of PostgreSQL well. */
const MAX_ROWS = 640;
/** To receive and read as many bytes takes as long as a row at most. */
const BYTES_PER_ROW = 330;

/** What a message of so many bytes costs; 0 for a short one, which takes no turn. */
export function rowsOf(bytes: number): number {
  return bytes < 4_096 ? 0 : Math.ceil(bytes / BYTES_PER_ROW);
}

/** What the smallest read costs while several accounts call: an account has 16 of them under way. */
const LEAST_ROWS = MAX_ROWS / 16;
/** For how long an account that has called is another. */
const RECENT_MS = 1_000;

interface Account {
  rows: number;
  readonly waiting: { readonly rows: number; readonly begin: () => void }[];
}

export class Turns {
  readonly #accounts = new Map<AccountId, Account>();
  /** Those that have called since then, and in the time before that. */
  #recent = new Set<AccountId>();
  #earlier = new Set<AccountId>();
  #sinceMs = 0;

  /** What a read of so many rows costs now. 0 takes no turn. */
  costOf(id: AccountId, rows: number): number {
    const now = performance.now();
    if (now - this.#sinceMs > RECENT_MS) [this.#earlier, this.#recent, this.#sinceMs] = [this.#recent, new Set(), now];
    this.#recent.add(id);
    const isAlone = this.#recent.size === 1 && this.#earlier.size <= (this.#earlier.has(id) ? 1 : 0);
    return isAlone ? rows : Math.max(rows, LEAST_ROWS);
  }

  /** Runs `work`, which costs so many rows, when it is its turn. The turn ends when what follows at once has run. */
  async run<T>(id: AccountId, rows: number, work: () => T | Promise<T>): Promise<T> {
    const account = this.#accounts.get(id) ?? { rows: 0, waiting: [] };
    this.#accounts.set(id, account);
    if (account.rows > 0 && account.rows + rows > MAX_ROWS) {
      await new Promise<void>((begin) => account.waiting.push({ rows, begin }));
    } else account.rows += rows;
    try {
      return await work();
    } finally {
      setImmediate(() => this.#end(id, account, rows));
    }
  }

  #end(id: AccountId, account: Account, rows: number): void {
    account.rows -= rows;
    for (let [next] = account.waiting; next !== undefined; [next] = account.waiting) {
      if (account.rows > 0 && account.rows + next.rows > MAX_ROWS) return;
      account.waiting.shift();
      account.rows += next.rows;
      next.begin();
    }
    if (account.rows === 0) this.#accounts.delete(id);
  }
}
