/** Finds and runs programs of the machine. It does not need AVA. */
import { execFile, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** The major version of the oldest Node that installs the service, and that the typed client is for. */
export const OLDEST_NODE = 20;

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

/** A Node of the oldest version in PATH. */
export function findOldestNode(): string | undefined {
  const nodes = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return nodes.find((node) => String(spawnSync(node, ['--version']).stdout).startsWith(`v${OLDEST_NODE}.`));
}

/** What is missing without that Node, for `testUnless`. */
export function missingNode(oldest: string | undefined): string | undefined {
  return oldest === undefined ? `NO NODE ${OLDEST_NODE} FOUND in PATH, so what runs on it is not tested` : undefined;
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
