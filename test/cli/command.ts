/** Runs the real `petstore` command, in a process of its own, against a real server. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestStack } from '../support/stack.ts';
import { Turns } from '../support/turns.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Petstore = (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Outcome>;

/** Returns a runner of the command, as on the server's host: only the server's port and data folder are set. */
export function petstore({ config }: Pick<TestStack, 'config'>): Petstore {
  const settings = {
    GRPC_PORT: String(config.grpcPort),
    DATA_DIR: config.dataDir,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '', // a hundred starts: this halves their time
  };
  return (args, env) => run(process.execPath, [`${ROOT}src/cli/main.ts`, ...args], { ...settings, ...env });
}

const turns = new Turns(3);

/** Runs a program to its end, with `env`, PATH and HOME as its whole environment. */
export async function run(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const { PATH = '', HOME = '' } = process.env;
  const endTurn = await turns.take();
  return new Promise<Outcome>((resolve, reject) => {
    execFile(file, args, { cwd: ROOT, env: { PATH, HOME, ...env } }, (error, stdout, stderr) => {
      if (error === null) resolve({ exitCode: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ exitCode: error.code, stdout, stderr });
      else reject(error);
    });
  }).finally(endTurn);
}

/** Runs a command that must succeed and returns its JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests read output of every shape
export async function json(command: Petstore, ...args: string[]): Promise<any> {
  const { exitCode, stdout, stderr } = await command([...args, '--json']);
  if (exitCode !== 0 || stderr !== '') throw new Error(`petstore ${args.join(' ')}: exit ${exitCode}, ${stderr}`);
  return JSON.parse(stdout);
}
