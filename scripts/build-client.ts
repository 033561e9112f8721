/**
 * Packs the typed client: `npm run build:client [-- FOLDER]` leaves the package in FOLDER, or in build/. It contains
 * JavaScript and declarations of gen/client and of its imports.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { NAME, TITLE } from '../src/identity.ts';

const folder = resolve(process.argv[2] ?? 'build');
const staging = mkdtempSync(join(tmpdir(), 'client-'));
try {
  execFileSync('tsc', ['--project', 'src/platform/client', '--outDir', join(staging, 'dist')], { stdio: 'inherit' });
  // The compiler rewrites imports in JavaScript only. No other compiler reads declarations with ".ts" imports.
  for (const file of globSync(join(staging, 'dist/**/*.d.ts'))) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(\bfrom ['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'));
  }
  const { version, license, type, engines, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const types = './dist/gen/client/index.d.ts';
  const manifest = {
    name: `${NAME}-client`,
    description: `A typed gRPC client of the ${TITLE}, with deadlines, retries and limits taken care of.`,
    keywords: [NAME, 'grpc', 'client'],
    ...{ version, license, type, engines },
    exports: { '.': { types, default: './dist/gen/client/index.js' } },
    types,
    files: ['dist'],
    sideEffects: false,
    dependencies: {
      '@bufbuild/protobuf': `^${dependencies['@bufbuild/protobuf']}`,
      '@grpc/grpc-js': `~${dependencies['@grpc/grpc-js']}`,
    },
  };
  writeFileSync(join(staging, 'package.json'), JSON.stringify(manifest, undefined, 2));
  // The other pages are not in the package.
  const page = readFileSync('docs/client.md', 'utf8').replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, '$1');
  writeFileSync(join(staging, 'README.md'), page);
  copyFileSync('LICENSE', join(staging, 'LICENSE'));
  mkdirSync(folder, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: staging, stdio: 'inherit' });
} finally {
  rmSync(staging, { recursive: true });
}
