/**
 * `npm run release -- X.Y.Z` commits and tags a release. All of it is done and checked in a worktree of its own. Only
 * what is whole comes to the branch, which a failure or an interruption leaves as it was.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandFailed, createCommand, run } from '../command-line.ts';
import { VERSION_PLACES } from './version-places.ts';

const KEPT = 'test/upgrades';
const UPGRADING = 'docs/upgrading.md';
const UNRELEASED = '## Unreleased\n';

const command = createCommand(
  'release',
  `Makes a release of the commit that is checked out: sets the version, dates the changelog, keeps in ${KEPT} what the
next release is compared with, checks all of it by "npm run check", commits and tags. It pushes nothing.`,
)
  .argument('<version>', 'its version, X.Y.Z, greater than the last: a new X if something breaks, a new Y if it adds')
  .usage('[options] <version>')
  .option('--dry-run', 'do and check all that, print it, and leave branch and tags as they are');

await run(command, async ({ dryRun = false }: { readonly dryRun?: boolean }) => {
  const [version = ''] = command.args;
  const last = lastVersion();
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(version))
    throw new CommandFailed(`"${version}" is not of the form X.Y.Z`);
  if (!isGreater(version, last)) throw new CommandFailed(`${version} is not greater than ${last}, the last release`);
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '') throw new CommandFailed(`there is a tag ${tag} already`);
  if (git('status', '--porcelain') !== '') throw new CommandFailed('there are changes that are not committed');
  if (git('branch', '--show-current') === '') throw new CommandFailed('no branch is checked out');

  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  git('worktree', 'add', '--quiet', '--detach', folder);
  try {
    for (const made of ['node_modules', '.envoy'])
      if (existsSync(made)) symlinkSync(join(process.cwd(), made), join(folder, made));
    const commit = makeCommit(folder, version, last);
    process.stdout.write(`${git('show', '--stat=100', '--format=%s', commit)}\n`);
    if (dryRun) process.stdout.write(`\nNothing was changed. Without --dry-run ${tag} would be tagged.\n`);
    else {
      git('merge', '--quiet', '--ff-only', commit);
      git('tag', '--annotate', '--message', `Release ${version}`, tag, commit);
      process.stdout.write(`\n${tag} is made. To publish it: git push --follow-tags\n`);
    }
  } finally {
    git('worktree', 'remove', '--force', folder);
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Makes the changes of a release in a worktree, and checks them. Returns the commit. */
function makeCommit(folder: string, version: string, last: string): string {
  const edit = (name: string, change: (text: string) => string) => {
    const file = join(folder, name);
    writeFileSync(file, change(readFileSync(file, 'utf8')));
  };
  edit('CHANGELOG.md', (text) => dated(text, version));
  const next = `${UNRELEASED}\nNothing beyond the steps.\n\n## ${version}\n`;
  edit(UPGRADING, (text) => text.replace(UNRELEASED, next));
  edit('package.json', (text) => text.replace(`"version": "${last}"`, `"version": "${version}"`));
  const twice = new RegExp(`("name": "[a-z]+",\\s+"version": )"${last}"`, 'g');
  edit('package-lock.json', (text) => text.replaceAll(twice, `$1"${version}"`));
  for (const [files, place] of VERSION_PLACES) {
    const replaced = (text: string) => text.replaceAll(place, (all, old) => all.replace(old, version));
    for (const name of globSync(files, { cwd: folder })) edit(name, replaced);
  }
  // Before the new baseline is kept: this compares with the last release.
  const check = spawnSync('npm', ['run', '--silent', 'check'], { cwd: folder, encoding: 'utf8' });
  if (check.status !== 0) throw new CommandFailed(`npm run check is red, nothing was changed:\n${check.stderr}`);

  for (const old of globSync(`${KEPT}/*.{binpb,openapi.json}`, { cwd: folder })) rmSync(join(folder, old));
  const kept = (ending: string) => join(folder, KEPT, `${version}.${ending}`);
  const proto = ['build', 'proto', '--exclude-source-info', '--exclude-imports', '-o', kept('binpb')];
  execFileSync(join(folder, 'node_modules/.bin/buf'), proto, { cwd: folder });
  const description = JSON.parse(readFileSync(join(folder, 'gen/openapi/openapi.json'), 'utf8'));
  writeFileSync(kept('openapi.json'), JSON.stringify(description));
  const program = join(folder, KEPT, 'unreleased.client.ts');
  if (existsSync(program)) renameSync(program, kept('client.ts'));
  execFileSync(
    'git',
    ['add', '--all', 'CHANGELOG.md', 'package.json', 'package-lock.json', 'deploy', UPGRADING, KEPT],
    {
      cwd: folder,
    },
  );
  execFileSync('git', ['commit', '--quiet', '--message', `Release ${version}`], { cwd: folder });
  return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
}

/** The changelog with what was unreleased under the version and today's date. */
function dated(changelog: string, version: string): string {
  const [before, rest] = changelog.split(UNRELEASED);
  const entries = rest?.split(/^## /m)[0]?.match(/^- /gm);
  if (rest === undefined || !entries) throw new CommandFailed(`CHANGELOG.md has no entry under "${UNRELEASED.trim()}"`);
  return `${before}${UNRELEASED}\n## ${version} - ${new Date().toISOString().slice(0, 10)}\n${rest}`;
}

function lastVersion(): string {
  return JSON.parse(readFileSync('package.json', 'utf8')).version;
}

function isGreater(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) > 0;
}

function git(...words: string[]): string {
  return execFileSync('git', words, { encoding: 'utf8' }).trim();
}
