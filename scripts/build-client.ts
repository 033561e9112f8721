/**
 * Packs the typed client: `npm run build:client [-- FOLDER]` leaves the package in FOLDER, or in build/. It
 * contains JavaScript and declarations of src/platform/client and of its imports from gen/.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const folder = resolve(process.argv[2] ?? 'build');
const staging = mkdtempSync(join(tmpdir(), 'client-'));
try {
  execFileSync('tsc', ['--project', 'src/platform/client', '--outDir', join(staging, 'dist')], { stdio: 'inherit' });
  // The compiler rewrites imports in JavaScript only. No other compiler reads declarations with ".ts" imports.
  for (const file of globSync(join(staging, 'dist/**/*.d.ts'))) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(\bfrom ['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'));
  }
  const files = {
    'package.json': 'src/platform/client/package.json',
    'README.md': 'docs/client.md',
    LICENSE: 'LICENSE',
  };
  for (const [name, file] of Object.entries(files)) copyFileSync(file, join(staging, name));
  mkdirSync(folder, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: staging, stdio: 'inherit' });
} finally {
  rmSync(staging, { recursive: true });
}
