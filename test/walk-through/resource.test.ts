/**
 * The walk-through "A resource" of CONTRIBUTING.md, done: suppliers.patch has its files, and a copy of the repository
 * gets them. When the patch no longer applies or no longer works, mend it and the walk-through.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/folder.ts';

const PATCH = join(ROOT, 'test/walk-through/suppliers.patch');
/** What the copy shares with the repository, and what it does not need. */
const [LINKED, LEFT_OUT] = [
  ['node_modules', '.envoy'],
  ['.git', 'build', 'data'],
];

test('A resource - is at most 12 files by hand, none of them in the platform', (t) => {
  const files = [...readFileSync(PATCH, 'utf8').matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path = '']) => path);
  t.true(files.length > 0 && files.length < 12, 'and CHANGELOG.md'); // which changes too often for a patch
  for (const file of files) t.regex(file, /^(proto\/petstore\/v1|src\/shop|test)\//);
});

test('A resource - the files of the walk-through make one that passes the tests of every operation', (t) => {
  t.timeout(600_000);
  const copy = temporaryFolder(t);
  for (const name of readdirSync(ROOT).filter((one) => !LEFT_OUT.includes(one))) {
    if (LINKED.includes(name)) symlinkSync(join(ROOT, name), join(copy, name));
    else cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  const env = { PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`, HOME: process.env.HOME };
  const run = (command: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: copy, encoding: 'utf8', env });
    t.is(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`);
  };
  run('git', 'apply', PATCH);
  run('node', 'scripts/generate.ts');
  run('tsc');
  run('buf', 'lint');
  run('depcruise', '--output-type', 'err', '--do-not-follow', 'node_modules|^envoy/', 'src');
  run('ava', 'test/rest/operations.test.ts', 'test/rest/suppliers/operations.test.ts');
});
