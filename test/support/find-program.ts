/**
 * Finds programs of the machine. Unlike programs.ts it does not need ava.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first of `names` that is a program in a folder of PATH, or in one of `folders`. */
export function findProgram(names: readonly string[], folders: readonly string[] = []): string | undefined {
  const searched = [...(process.env.PATH ?? '').split(delimiter), ...folders];
  return searched.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** Whether what needs a program that is missing may be skipped: not where CI or PETSTORE_SKIP_NOTHING says so. */
export function mayBeSkipped(): boolean {
  return !(process.env.CI || process.env.PETSTORE_SKIP_NOTHING);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
