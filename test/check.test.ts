/** `npm run check`, on a package.json of its own. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/machine/folder.ts';

test('npm run check - tells what each part that fails says, and then exits with 1', (t) => {
  const cwd = temporaryFolder(t);
  const check = (scripts: Readonly<Record<string, string>>) => {
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts }));
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/check.ts')], { cwd, encoding: 'utf8' });
    return { status, said: stderr.split(/\n*--- /).map((part) => part.trim()) };
  };
  t.deepEqual(check({ 'check:one': 'echo well', build: 'exit 1' }), { status: 0, said: [''] });
  const parts = { 'check:one': 'echo bad; exit 1 && echo worse >&2; exit 2', 'check:two': 'echo well' };
  const { status, said } = check({ ...parts, 'check:three': 'exit 3' });
  t.is(status, 1);
  t.deepEqual(said.toSorted(), ['', 'check:one\nbad', 'check:one\nworse', 'check:three']);
});
