/**
 * Turns for work that takes long: to read a large message, and to find and write a page of a list. An account has so
 * much of it under way at once, in rows or what costs as much, and the rest waits. So the event loop and the database
 * come to the calls of others after some milliseconds.
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

interface Account {
  rows: number;
  readonly waiting: { readonly rows: number; readonly begin: () => void }[];
}

export class Turns {
  readonly #accounts = new Map<AccountId, Account>();

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
