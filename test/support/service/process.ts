/** Processes of the service, with their output and exit code. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import { ROOT } from '../../../src/platform/launcher/paths.ts';
import { GrpcCaller } from '../calls/grpc-caller.ts';
import { freePorts } from '../machine/ports.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { type Settings, UNLIMITED } from './unlimited.ts';

export class Program {
  readonly process: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  hasEnded = false;
  output = '';
  errors = '';
  #skipped = 0;

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    this.process = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    // "close" comes after "exit", when all output has been read.
    this.ended = new Promise((resolve) => this.process.once('close', (code, signal) => resolve({ code, signal })));
    this.process.once('close', () => (this.hasEnded = true));
  }

  /** Waits until stdout matches. Rejects if the process exits first, or after `giveUpMs`. */
  async says(pattern: RegExp, giveUpMs?: number): Promise<RegExpExecArray> {
    const look = () => {
      const match = pattern.exec(this.output.slice(this.#skipped));
      if (match === null && this.hasEnded) throw new Error('it ended');
      return match;
    };
    const late = (error: Error) => Promise.reject(new Error(`${error.message}: ${this.output}${this.errors}`));
    return until(look, String(pattern), giveUpMs).catch(late);
  }

  /** From now on `says` looks only at what is written later. */
  skipOutput(): void {
    this.#skipped = this.output.length;
  }

  get pid(): number {
    return this.process.pid ?? -1;
  }

  end(signal: NodeJS.Signals): Program['ended'] {
    this.process.kill(signal);
    return this.ended;
  }
}

/** One of the repository's TypeScript files in its own process group, as a terminal runs it. */
export class TestProcess extends Program {
  /** `root` may be another copy of the repository, `prefix` is a command that executes another. */
  constructor(file: string, settings: Settings, root = ROOT, prefix: readonly string[] = []) {
    const [command = '', ...args] = [...prefix, process.execPath, join(root, file)];
    super(command, args, { cwd: root, env: { ...process.env, ...settings }, detached: true });
  }
}

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>;

/** Starts the gRPC server in its own process, and waits until it serves. */
export async function startServerProcess(t: Scope, dataDir: string, settings: Settings = {}) {
  const [port] = await freePorts(1);
  const fixed = { GRPC_PORT: String(port), DATA_DIR: dataDir, DEMO_ACCOUNT: 'yes' };
  const env = { ...UNLIMITED, ...fixed, ...settings };
  const server = new TestProcess('src/main.ts', env);
  t.teardown(() => server.end('SIGKILL'));
  await server.says(/"serving"/);
  const address = `127.0.0.1:${port}`;
  const key = (await readFile(demoKeyFile(dataDir), 'utf8')).trim();
  const grpc = new GrpcCaller(address, key);
  t.teardown(() => grpc.close());
  return Object.assign(server, { dataDir, address, key, grpc });
}
