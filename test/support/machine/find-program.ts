/** Finds and runs programs of the machine. Unlike programs.ts it does not need ava. */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Runs a program. Resolves with its output; rejects when it fails. */
export const sh = promisify(execFile);

/** The path of the first of `names` that is executable in PATH or in `folders`. */
export function findProgram(names: readonly string[], folders: readonly string[] = []): string | undefined {
  const searched = [...(process.env.PATH ?? '').split(delimiter), ...folders];
  return searched.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** What is missing without the program, for `testUnless`. */
export function missing(program: string, debianPackage = program, folders?: readonly string[]): string | undefined {
  if (findProgram([program], folders) !== undefined) return undefined;
  return `NO ${program.toUpperCase()} FOUND, so what needs it is not tested: apt-get install ${debianPackage}`;
}

/** Whether tests of a missing program may be skipped: not under CI or SKIP_NOTHING. */
export function mayBeSkipped(): boolean {
  return !(process.env.CI || process.env.SKIP_NOTHING);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
