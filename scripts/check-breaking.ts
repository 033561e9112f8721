/** Holds the proto files to what callers rely on: compares them with the main branch, or says why it can't. */
import { execFileSync, spawnSync } from 'node:child_process';

/** The main branch, as this clone has it; undefined in one that has no history. */
function mainBranch(): string | undefined {
  return ['origin/main', 'main'].find(
    (ref) => spawnSync('git', ['rev-parse', '--verify', '--quiet', `${ref}:proto`], { stdio: 'ignore' }).status === 0,
  );
}

const ref = mainBranch();
if (ref === undefined) {
  process.stderr.write('buf breaking: this copy has no main branch to compare with; not checked.\n');
} else {
  execFileSync('buf', ['breaking', '--against', `.git#ref=${ref}`], { stdio: 'inherit' });
}
