/** The programs of the suites, which go.mod and go.sum pin. A machine builds them once for each state of both. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../src/launcher/paths.ts';
import { findProgram } from '../support/find-program.ts';

const MODULE = join(ROOT, 'test/conformance');

export const run = promisify(execFile);
/** What is missing, for `testUnless`. */
export const noGo =
  findProgram(['go']) === undefined ? 'NO GO FOUND, so the suites of the field are not run' : undefined;

/** Runs `go` in the module of the suites, behind the tests that measure nothing of it. */
export async function go(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const options = { cwd: MODULE, env: { ...process.env, ...env } };
  return (await run('nice', ['-n', '10', 'go', ...args], options)).stdout;
}

/** Resolves with the folder of the programs. */
export async function buildPrograms(): Promise<string> {
  const state = createHash('sha256');
  for (const name of ['go.mod', 'go.sum', 'descriptors/main.go']) state.update(readFileSync(join(MODULE, name)));
  const folder = join(ROOT, 'node_modules/.cache/conformance', state.digest('hex').slice(0, 16));
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await go(['install', 'tool', './descriptors'], { GOBIN: unfinished });
  await rename(unfinished, folder);
  return folder;
}
