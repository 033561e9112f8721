/** A repository of its own with the files of this one, as they are. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/machine/folder.ts';

export function clone(t: ExecutionContext) {
  const folder = join(temporaryFolder(t), 'clone');
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '-z'];
  const files = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(join(ROOT, file), join(folder, file));
  for (const made of ['node_modules', '.envoy']) symlinkSync(join(ROOT, made), join(folder, made));
  const edit = (name: string, change: (text: string) => string) =>
    writeFileSync(join(folder, name), change(readFileSync(join(folder, name), 'utf8')));
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const run = (program: string, ...words: string[]) => {
    const env = { ...process.env, PATH };
    const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8', env });
    return { status, out: stdout.trim(), errors: stderr };
  };
  const git = (...words: string[]) => run('git', ...words).out;
  const commit = () => git('add', '--all') + git('commit', '--quiet', '--message', 'Change');
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(folder, '.git/info/exclude'), 'node_modules\n.envoy\n'); // links
  git('config', 'user.name', 'T');
  git('config', 'user.email', 't@example.com');
  return { folder, edit, git, commit, npm: (...words: string[]) => run('npm', 'run', '--silent', ...words) };
}
