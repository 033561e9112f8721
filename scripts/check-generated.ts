/** Fails if generated files are stale: generates into a temporary folder and compares. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const fresh = mkdtempSync(join(tmpdir(), 'petstore-gen-'));
try {
  execFileSync('npm', ['run', '--silent', 'generate', '--', fresh], { stdio: 'inherit' });
  for (const generated of ['gen', 'docs/settings.md']) {
    const { status } = spawnSync('diff', ['-rq', generated, join(fresh, generated)], { stdio: 'inherit' });
    if (status === 0) continue;
    process.stderr.write(`${generated} is stale: run "npm run generate" and commit what it changes.\n`);
    process.exitCode = 1;
  }
} finally {
  rmSync(fresh, { recursive: true });
}
