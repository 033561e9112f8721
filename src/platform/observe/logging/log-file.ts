/**
 * A log file, or stdout. A failed write never ends the process (the disk is full, or fails): the line is kept and
 * written later, the lines after it are dropped. Writes are synchronous, so that a crash loses no lines.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

const STDOUT = 1;

export class LogFile {
  /** `stdout` without a file. */
  readonly path: string;
  readonly isFile: boolean;
  #fd = STDOUT;
  /** The part of the last line that is not written yet. */
  #pending: Uint8Array = new Uint8Array();

  /** Appends to the file at `path`, which is created if necessary; to stdout without a path. */
  constructor(path?: string) {
    this.isFile = path !== undefined;
    this.path = path ?? 'stdout';
    if (this.isFile) this.#fd = openSync(this.path, 'a');
  }

  /** Writes text. The logger passes whole lines; a process's output comes in pieces, which may end within a line. */
  write(text: string): void {
    if (this.#flush()) this.#pending = Buffer.from(text);
    this.#flush();
  }

  /** Opens the path again after a rotation. Keeps the open file when that fails. */
  reopen(): void {
    if (!this.isFile) return;
    try {
      const oldFd = this.#fd;
      this.#fd = openSync(this.path, 'a');
      closeSync(oldFd); // even if that fails, the number may be another file's
    } catch {
      // The rotation has left no file, or the disk fails.
    }
  }

  /** Returns true when nothing is pending. The rest of a partly written line goes to the new file after `reopen`. */
  #flush(): boolean {
    try {
      while (this.#pending.length > 0) this.#pending = this.#pending.subarray(writeSync(this.#fd, this.#pending));
      return true;
    } catch {
      return false;
    }
  }
}
