/**
 * A log file, or stdout. Logging never ends the process: a line that can't be written (the disk is full, its device
 * fails) waits, the lines after it are dropped, and the first that gets through is preceded by one that says how many.
 *
 * The writes are synchronous, as a crash must not lose the lines before it. They go to the page cache.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

const STDOUT = 1;

export class LogFile {
  /** For people, when it is stdout. */
  readonly path: string;
  readonly isFile: boolean;
  #fd = STDOUT;
  /** What could not be written yet. */
  #rest: Uint8Array = new Uint8Array();
  #dropped = 0;

  /** Appends to the file at `path`, and creates it if need be; without one, to stdout. */
  constructor(path?: string) {
    this.isFile = path !== undefined;
    this.path = path ?? 'stdout';
    if (this.isFile) this.#fd = openSync(this.path, 'a');
  }

  /** Takes one line, or more. */
  write(lines: string): void {
    if (!this.#writeRest()) {
      this.#dropped += 1;
      return;
    }
    this.#rest = Buffer.from(this.#dropped === 0 ? lines : droppedLine(this.#dropped) + lines);
    this.#dropped = 0;
    this.#writeRest();
  }

  /** Goes on with the file that has its path now. When that can't be opened it stays with the one it has. */
  reopen(): void {
    if (!this.isFile) return;
    const before = this.#fd;
    try {
      this.#fd = openSync(this.path, 'a');
    } catch {
      return;
    }
    closeSync(before);
  }

  /** Returns whether all is written. A part of a line may be: the rest of it follows, whatever the file. */
  #writeRest(): boolean {
    try {
      while (this.#rest.length > 0) this.#rest = this.#rest.subarray(writeSync(this.#fd, this.#rest));
      return true;
    } catch {
      return false;
    }
  }
}

/** In the form of the logger's lines. */
function droppedLine(count: number): string {
  const msg = 'lines of this log could not be written and were dropped';
  return `${JSON.stringify({ level: 40, time: new Date().toISOString(), dropped: count, msg })}\n`;
}
