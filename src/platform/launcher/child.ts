/**
 * A child process in its own process group, so that Ctrl-C reaches only the launcher. If the log is a file, the
 * launcher writes the little there that the process writes to stdout and stderr. It inherits stdout as a log.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ExpectedError } from '../config/config.ts';
import type { LogFile } from '../observe/logging/log-file.ts';

export interface ChildOptions {
  /** Its environment variables. Default: those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether it has an IPC channel to this process. Without one it is stopped when this ends, also by `kill -9`. */
  readonly ipc?: boolean;
  readonly log: LogFile;
}

const STDOUT = 1;

/**
 * Becomes the program, beside a process that stops it (`$$`) when the pipe on fd 3 closes, as this process ends: by
 * force if it is still there after ten seconds, such as a frozen one.
 */
const END_WITH_PARENT =
  '(read -r line <&3; kill "$$"; for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 "$$" || exit; done; ' +
  'kill -9 "$$") >/dev/null 2>&1 & exec "$@" 3<&-';

export class Child {
  /** The name in messages: "the server". */
  readonly name: string;
  readonly process: ChildProcess;
  readonly log: LogFile;
  /** Resolves with the reason when the process has ended: "exit code 1", "signal SIGKILL". */
  readonly ended: Promise<string>;
  hasServed = false;
  /** Whether it was told to drain, so that its end is expected. */
  isDraining = false;

  constructor(name: string, command: string, args: readonly string[], options: ChildOptions) {
    this.name = name;
    const { env = process.env, ipc, log } = options;
    this.log = log;
    const [file, ...rest] = ipc ? [command, ...args] : ['sh', '-c', END_WITH_PARENT, 'sh', command, ...args];
    const output = log.isFile ? 'pipe' : STDOUT;
    this.process = spawn(file, rest, {
      detached: true,
      env: { ...env },
      stdio: ['ignore', output, output, ipc ? 'ipc' : 'pipe'],
    });
    if (!ipc) this.process.once('exit', () => this.process.stdio[3]?.destroy());
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => log.write(text));
    }
    this.ended = new Promise((resolve) => {
      this.process.once('error', (error) => resolve(error.message));
      this.process.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Resolves with the next IPC message that `pass` does not take. Rejects if the process ends without one. */
  async nextMessage(pass: (message: unknown) => boolean = () => false): Promise<unknown> {
    const { promise: next, resolve } = Promise.withResolvers<unknown>();
    const listen = (message: unknown) => pass(message) || resolve(message);
    this.process.on('message', listen);
    const ended = this.ended.then(async () => {
      if (this.process.connected) await once(this.process, 'disconnect'); // its last message may not be read yet
      return this.failure();
    });
    return Promise.race([next, ended]).finally(() => this.process.off('message', listen));
  }

  /** Sends an IPC message. It is lost if the process has ended. */
  send(message: string): void {
    this.process.send?.(message, () => undefined);
  }

  async failure(): Promise<never> {
    throw new ChildExited(this, await this.ended);
  }

  /** Sends SIGTERM, and SIGKILL after `graceMs`. Resolves when the process has ended. */
  async stop(graceMs: number): Promise<void> {
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(timer);
  }
}

export class ChildExited extends ExpectedError {
  override name = 'ChildExited';

  constructor({ name, log }: Child, how: string) {
    super(`${name} ended unexpectedly (${how}): see ${log.path}`);
  }
}
