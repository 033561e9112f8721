/** Processes of the service, with their output and exit code: a server, or the launcher and its children. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import { ROOT } from '../../../src/platform/launcher/paths.ts';
import { GrpcCaller } from '../calls/grpc-caller.ts';
import { RestClient } from '../calls/rest-client.ts';
import { sh } from '../machine/find-program.ts';
import { freePorts, type Scope, temporaryFolder } from '../scope.ts';
import { until } from '../until.ts';

export type Settings = Readonly<Record<string, string>>;

/** Settings for tests that are not about limits: they must not run into one. */
export const UNLIMITED: Settings = {
  BUSINESS_PER_MINUTE: '1000000',
  BUSINESS_PER_DAY: '1000000',
  ADDRESS_PER_MINUTE: '1000000',
  ADDRESS_BURST: '1000000',
  ADDRESS_PER_SECOND: '1000000',
};

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
    const [command = '', ...args] = [...prefix, process.execPath, `${root}/${file}`];
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

interface Running {
  readonly pid: number;
  readonly command: string;
}

export class Launcher extends TestProcess {
  readonly settings: Settings;

  /** `root` is another copy of the repository. */
  constructor(settings: Settings, root?: string) {
    super('src/platform/launcher/main.ts', settings, root);
    this.settings = settings;
  }

  /** Waits until the service is open. The key is the demo account's, or empty. */
  async opened() {
    const [, url = ''] = await this.says(/open: (\S+)\n/);
    const [curl] = await this.says(/curl .*/);
    await this.says(/Ctrl-C stops it/);
    const file = demoKeyFile(this.settings.DATA_DIR ?? '');
    const key = (await readFile(file, 'utf8').catch(() => '')).trim();
    return { url, key, curl, rest: new RestClient(url, key) };
  }

  children(): Promise<Running[]> {
    return childrenOf(this.pid);
  }

  /** The server processes that run now. */
  async servers(): Promise<Running[]> {
    return (await this.children()).filter(({ command }) => command.includes(`src/main.ts`));
  }

  async pair(): Promise<{ readonly server: Running; readonly envoy: Running }> {
    const children = await this.children();
    const [server] = await this.servers();
    const envoy = children.find(({ command }) => command.includes('--config-path'));
    if (server === undefined || envoy === undefined) throw new Error(`it runs ${JSON.stringify(children)}`);
    return { server, envoy };
  }
}

/** Settings of a launcher with free ports, and a data folder that does not exist yet. */
export async function launcherSettings(t: Scope): Promise<Settings> {
  const [port, grpcPort, adminPort] = await freePorts(3);
  const ports = { PORT: String(port), GRPC_PORT: String(grpcPort), ENVOY_ADMIN_PORT: String(adminPort) };
  return { ...UNLIMITED, ...ports, DATA_DIR: `${temporaryFolder(t)}/the data` };
}

export async function childrenOf(pid: number): Promise<Running[]> {
  const { stdout } = await sh('ps', ['-axo', 'pid=,ppid=,command=']);
  return stdout.split('\n').flatMap((line) => {
    const [, child, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return Number(parent) === pid ? [{ pid: Number(child), command }] : [];
  });
}

/** Sends a signal to a process. Returns whether it was there; 0 is none. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

export const isRunning = ({ pid }: Pick<Running, 'pid'>) => signal(pid, 0);
