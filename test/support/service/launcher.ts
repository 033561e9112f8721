/** The launcher as `npm start` runs it, with its own ports and data, and its child processes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoKeyFile } from '../../../src/platform/access/keys/key-files.ts';
import { RestClient } from '../calls/rest-client.ts';
import { sh } from '../machine/find-program.ts';
import { temporaryFolder } from '../machine/folder.ts';
import { freePorts } from '../machine/ports.ts';
import type { Scope } from '../scope.ts';
import { TestProcess } from './process.ts';
import { type Settings, UNLIMITED } from './unlimited.ts';

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
    return (await this.children()).filter(({ command }) => command.includes(join('src', 'main.ts')));
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
  return { ...UNLIMITED, ...ports, DATA_DIR: join(temporaryFolder(t), 'the data') };
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
