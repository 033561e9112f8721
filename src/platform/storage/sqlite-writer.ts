/**
 * The owner of the connection that writes, who knows whether a transaction is open. What is sent takes effect in the
 * transaction that its caller believes in, or not at all.
 *
 * After some errors SQLite ends the whole transaction (https://sqlite.org/lang_transaction.html), mostly when the disk
 * is full or fails; no code tells. What is sent then would commit by itself. So statements run one at a time, and after
 * one that fails none is sent until `undo` has succeeded: the savepoint is there only while its transaction is.
 *
 * | state                         | statement         | begin | mark | undo | commit | end  |
 * |-------------------------------|-------------------|-------|------|------|--------|------|
 * | idle: no transaction          | -                 | open  | -    | -    | -      | idle |
 * | open: a transaction           | open, else failed | -     | open | open | idle   | idle |
 * | failed: perhaps a transaction | -                 | -     | -    | open | -      | idle |
 * | unknown: a command failed     | -                 | -     | -    | -    | -      | idle |
 *
 * `-` is refused: nothing is sent. A command that fails leads to `unknown`: all of it may be done, a part, or nothing.
 */
import { SqliteConnection } from './sqlite-connection.ts';

type State = 'idle' | 'open' | 'failed' | 'unknown';
type Command = readonly [sql: string, from: readonly State[], to: State];

/** One trip to the database's thread each. BEGIN waits for another process's lock. */
const COMMANDS = {
  begin: ['BEGIN IMMEDIATE; SAVEPOINT work', ['idle'], 'open'],
  mark: ['RELEASE work; SAVEPOINT work', ['open'], 'open'],
  undo: ['ROLLBACK TO work', ['open', 'failed'], 'open'],
  commit: ['RELEASE work; COMMIT', ['open'], 'idle'],
  end: ['SAVEPOINT any; ROLLBACK', ['idle', 'open', 'failed', 'unknown'], 'idle'], // without a transaction, too
} as const satisfies Readonly<Record<string, Command>>;

export class SqliteWriter extends SqliteConnection {
  #state: State = 'idle';
  /** The latest statement. */
  #last: Promise<unknown> = Promise.resolve();

  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  /** Sends a command after the latest statement. */
  async command(name: keyof typeof COMMANDS): Promise<void> {
    await this.#last;
    const [sql, from, to]: Command = COMMANDS[name];
    await this.#step(from, 'unknown', to, () => this.exec(sql));
  }

  protected override inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => this.#step(['open'], 'failed', 'open', run));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Sends something in one of the states `from`. The state is `until` before its success is known, then `to`. */
  async #step<T>(from: readonly State[], until: State, to: State, send: () => Promise<T>): Promise<T> {
    if (!from.includes(this.#state)) throw new Error(`nothing is sent: the transaction is ${this.#state}`);
    this.#state = until;
    const result = await send();
    this.#state = to;
    return result;
  }
}
