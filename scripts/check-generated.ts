/** Fails when `gen/` is not what `npm run generate` makes of the proto files: generates into a temporary folder, compares. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const fresh = mkdtempSync(join(tmpdir(), 'petstore-gen-'));
try {
  execFileSync('npm', ['run', '--silent', 'generate', '--', fresh], { stdio: 'inherit' });
  const { status } = spawnSync('diff', ['-rq', 'gen', join(fresh, 'gen')], { stdio: 'inherit' });
  if (status !== 0) {
    process.stderr.write('gen/ is stale: run "npm run generate" and commit what it changes.\n');
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true });
}
