/** A repository of its own with the files of this one, as they are. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { copyTree } from '../../scripts/copy-tree.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { temporaryFolder } from '../support/scope.ts';

export function clone(t: ExecutionContext) {
  const folder = `${temporaryFolder(t)}/clone`;
  copyTree(folder);
  const edit = (name: string, change: (text: string) => string) =>
    writeFileSync(`${folder}/${name}`, change(readFileSync(`${folder}/${name}`, 'utf8')));
  const PATH = `${ROOT}/node_modules/.bin:${process.env.PATH}`;
  const run = (program: string, ...words: string[]) => {
    const env = { ...process.env, PATH };
    const { status, stdout, stderr } = spawnSync(program, words, { cwd: folder, encoding: 'utf8', env });
    return { status, out: stdout.trim(), errors: stderr };
  };
  const git = (...words: string[]) => run('git', ...words).out;
  const commit = () => git('add', '--all') + git('commit', '--quiet', '--message', 'Change');
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(`${folder}/.git/info/exclude`, 'node_modules\n.envoy\n'); // links
  git('config', 'user.name', 'T');
  git('config', 'user.email', 't@example.com');
  return { folder, edit, git, commit, npm: (...words: string[]) => run('npm', 'run', '--silent', ...words) };
}
