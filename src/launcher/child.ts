/**
 * A child process in a process group of its own: Ctrl-C reaches the launcher alone. What it writes to stdout and stderr,
 * which is little, comes here and goes to a log; a disk without room keeps nobody from knowing why it ended. Where the log
 * is stdout it writes there itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { LogFile } from '../logging/log-file.ts';

export interface ChildOptions {
  /** All its environment variables; if none are given, it has those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** With a channel for messages to the launcher and from it. */
  readonly ipc?: boolean;
  /** For a program that does not notice by itself: it is ended when this process ends, by `kill -9` too. */
  readonly endsWithParent?: boolean;
  readonly log: LogFile;
}

const STDOUT = 1;
/** How much of its output is kept, and how long the last of it may take. */
const MAX_OUTPUT_CHARS = 65_536;
const FINAL_OUTPUT_MS = 1_000;

/**
 * Becomes the program, and leaves a process behind that waits for the end of the pipe: this process alone has the other
 * side. `$$` is the program.
 */
const END_WITH_PARENT = '(read -r line <&3; kill "$$") 2>/dev/null & exec "$@" 3<&-';

export class Child {
  /** For people: "the server". */
  readonly name: string;
  readonly process: ChildProcess;
  readonly log: LogFile;
  /** Resolves when the process has ended, with how: "exit code 1", "signal SIGKILL". */
  readonly ended: Promise<string>;
  #output = '';
  readonly #outputEnded: Promise<unknown>;

  constructor(name: string, command: string, args: readonly string[], options: ChildOptions) {
    this.name = name;
    this.log = options.log;
    const { endsWithParent, log } = options;
    const [file, ...rest] = endsWithParent ? ['sh', '-c', END_WITH_PARENT, 'sh', command, ...args] : [command, ...args];
    const output = log.isFile ? 'pipe' : STDOUT;
    this.process = spawn(file, rest, {
      detached: true,
      env: { ...(options.env ?? process.env) },
      stdio: ['ignore', output, output, options.ipc ? 'ipc' : endsWithParent ? 'pipe' : 'ignore'],
    });
    if (endsWithParent) this.process.once('exit', () => this.process.stdio[3]?.destroy());
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-MAX_OUTPUT_CHARS);
        log.write(text);
      });
    }
    this.#outputEnded = once(this.process, 'close').catch(() => undefined);
    this.ended = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(error.message));
      this.process.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Resolves with the first message over the channel; rejects if the process ends before. */
  async message(): Promise<unknown> {
    return Promise.race([once(this.process, 'message').then(([message]) => message as unknown), this.failure()]);
  }

  /** Sends a message over the channel. To a process that has ended it is lost. */
  send(message: string): void {
    this.process.send?.(message, () => undefined);
  }

  /** Rejects when the process ends. */
  async failure(): Promise<never> {
    throw new ChildExited(this, await this.ended);
  }

  /** What it wrote last, when it has ended. */
  async finalOutput(): Promise<string> {
    await Promise.race([this.#outputEnded, delay(FINAL_OUTPUT_MS, undefined, { ref: false })]);
    return this.#output;
  }

  /** Asks the process to end, and makes it after `graceMs`. Resolves when it has ended. */
  async stop(graceMs: number): Promise<void> {
    this.process.kill('SIGTERM');
    const timer = new AbortController();
    const late = delay(graceMs, undefined, { signal: timer.signal }).then(
      () => this.process.kill('SIGKILL'),
      () => false,
    );
    await this.ended;
    timer.abort();
    await late;
  }
}

/** A child process that ended when it should not have. */
export class ChildExited extends Error {
  override name = 'ChildExited';

  constructor({ name, log }: Child, how: string) {
    super(`${name} ended unexpectedly (${how}): see ${log.path}`);
  }
}
