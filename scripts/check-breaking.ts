/**
 * Checks that the proto files and the OpenAPI description have no breaking change compared with the main branch, or
 * says why it can't.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findBreaks } from '../src/openapi/breaks.ts';

const DESCRIPTION = 'gen/openapi/openapi.json';

/** The main branch of this clone. Undefined without history, or if the branch lacks the file or folder. */
function mainBranch(path: string): string | undefined {
  return ['origin/main', 'main'].find(
    (ref) => spawnSync('git', ['rev-parse', '--verify', '--quiet', `${ref}:${path}`], { stdio: 'ignore' }).status === 0,
  );
}

/** Calls `check` with the main branch, if it exists and has `path`. */
function againstMain(what: string, path: string, check: (ref: string) => void): void {
  const ref = mainBranch(path);
  if (ref === undefined)
    process.stderr.write(`${what}: there is no main branch with ${path} to compare with; not checked.\n`);
  else check(ref);
}

againstMain('buf breaking', 'proto', (ref) => {
  execFileSync('buf', ['breaking', '--against', `.git#ref=${ref}`], { stdio: 'inherit' });
});

againstMain('interface description', DESCRIPTION, (ref) => {
  const old = execFileSync('git', ['show', `${ref}:${DESCRIPTION}`], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const breaks = findBreaks(JSON.parse(old), JSON.parse(readFileSync(DESCRIPTION, 'utf8')));
  if (breaks.length === 0) return;
  process.stderr.write(`The interface description breaks what callers of ${ref} rely on (docs/compatibility.md):\n`);
  for (const text of breaks) process.stderr.write(`- ${text}\n`);
  process.exitCode = 1;
});
