/** Runs the `petstore` command against a real server: in this process, or as a process of its own. */
import { run as runCommand } from '../../src/platform/cli/program.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { Program, type Settings } from '../support/service/process.ts';
import { takeTurns } from '../support/until.ts';

export const MAIN = `${ROOT}/src/platform/cli/main.ts`;

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Petstore = (args: readonly string[], env?: Settings) => Promise<Outcome>;

const turn = takeTurns(1);

/** Returns a runner of the command with these settings. One at a time, since the environment is the process's. */
export function petstore(settings: Settings): Petstore {
  return async (args, env) => {
    const endTurn = await turn();
    const own = process.env;
    process.env = { ...own, ...settings, ...env }; // the rest is for programs that other tests start meanwhile
    const written = { stdout: '', stderr: '' };
    const writer = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) });
    try {
      return { exitCode: await runCommand(args, writer('stdout'), writer('stderr')), ...written };
    } finally {
      process.env = own;
      endTurn();
    }
  };
}

/** Runs a program to its end, with `env`, PATH and HOME as its whole environment. */
export async function run(file: string, args: readonly string[], env: Settings): Promise<Outcome> {
  const { PATH = '', HOME = '' } = process.env;
  const program = new Program(file, args, { cwd: ROOT, env: { PATH, HOME, ...env } });
  const { code } = await program.ended;
  return { exitCode: code ?? -1, stdout: program.output, stderr: program.errors };
}

export async function text(command: Petstore, line: string): Promise<string> {
  const { exitCode, stdout, stderr } = await command(line.split(' '));
  if (exitCode !== 0 || stderr !== '') throw new Error(`petstore ${line}: exit ${exitCode}, ${stderr}`);
  return stdout.trimEnd();
}

// biome-ignore lint/suspicious/noExplicitAny: tests read output of every shape
export async function json(command: Petstore, line: string): Promise<any> {
  return JSON.parse(await text(command, `${line} --json`));
}
