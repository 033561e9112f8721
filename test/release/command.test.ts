/** `npm run release`, in clones. */
import { globSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { version } from '../../src/platform/config/constants.ts';
import { clone } from './clone.ts';

const PARTS = /^(release|check|check:(breaking|identity))$/;

/** A clone with one entry in its changelog. Its check has the parts alone that a release can change. */
function start(t: ExecutionContext) {
  const { npm, ...its } = clone(t);
  its.edit('package.json', (text) => {
    const manifest = JSON.parse(text);
    const scripts = Object.fromEntries(Object.entries(manifest.scripts).filter(([name]) => PARTS.test(name)));
    return `${JSON.stringify({ ...manifest, scripts }, undefined, 2)}\n`;
  });
  its.edit('CHANGELOG.md', (text) => `${text.split('## Unreleased')[0]}## Unreleased\n\n### Added\n\n- Something.\n`);
  its.commit();
  return { ...its, release: (...words: string[]) => npm('release', '--', ...words) };
}

test('npm run release - sets each version, dates the changelog, keeps what is compared with, commits and tags', (t) => {
  const { folder, edit, git, commit, release } = start(t);
  const before = git('rev-parse', 'HEAD');
  const dry = release('9.0.0', '--dry-run');
  t.is(dry.status, 0, dry.errors);
  t.regex(dry.out, /^Release 9\.0\.0\n[\s\S]*CHANGELOG\.md[\s\S]*package-lock\.json[\s\S]*v9\.0\.0 would be tagged\.$/);
  t.deepEqual([git('rev-parse', 'HEAD'), git('tag'), git('status', '--porcelain')], [before, '', '']);
  t.notRegex(git('worktree', 'list'), /release-/);

  const made = release('9.0.0');
  t.is(made.status, 0, made.errors);
  t.deepEqual(
    [git('tag'), git('rev-parse', 'v9.0.0^{}'), git('status', '--porcelain')],
    ['v9.0.0', git('rev-parse', 'HEAD'), ''],
  );
  t.is(git('log', '-1', '--format=%s'), 'Release 9.0.0');
  const changed = git('diff', '--name-only', 'HEAD~', '--', 'package*.json', 'deploy').split('\n');
  t.deepEqual(changed.length, 6);
  const read = (name: string) => readFileSync(`${folder}/${name}`, 'utf8');
  t.regex(read('CHANGELOG.md'), /\n## Unreleased\n\n## 9\.0\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- /);
  t.regex(read('docs/upgrading.md'), /\n## Unreleased\n\nNothing .*\n\n## 9\.0\.0\n\n/);
  const old = git('grep', '-F', version(), '--', 'package.json', 'deploy/container', 'deploy/kubernetes');
  t.notRegex(old, /version|image|newTag/);
  const kept = () => globSync('*.{binpb,openapi.json}', { cwd: `${folder}/test/upgrades` }).toSorted();
  t.deepEqual(kept(), ['9.0.0.binpb', '9.0.0.openapi.json']);

  // The next one is compared with it.
  edit('CHANGELOG.md', (text) => text.replace('## Unreleased\n', '## Unreleased\n\n- More.\n'));
  edit('proto/petstore/v1/pets.proto', (text) =>
    text.replace('message NewPet {\n', 'message NewPet {\n  reserved 99;\n'),
  );
  edit('gen/openapi/openapi.json', (text) => text.replace('"/categories":', '"/kinds":'));
  commit();
  const minor = release('9.1.0');
  t.is(minor.status, 2);
  t.regex(minor.errors, /npm run check is red, nothing was changed:[\s\S]*interface description: .*\/categories/);
  t.is(git('tag'), 'v9.0.0');
  const major = release('10.0.0');
  t.is(major.status, 0, major.errors);
  t.deepEqual(kept(), ['10.0.0.binpb', '10.0.0.openapi.json']);
});

test('npm run release - refuses what is no release, and changes nothing', (t) => {
  const { edit, git, commit, release } = start(t);
  const refuses = (expected: RegExp, ...words: string[]) => {
    const before = git('rev-parse', 'HEAD') + git('status', '--porcelain');
    const { status, errors } = release(...words);
    t.is(status, 2, errors);
    t.regex(errors, expected);
    t.deepEqual([git('rev-parse', 'HEAD') + git('status', '--porcelain'), git('tag')], [before, tags]);
  };
  let tags = '';
  refuses(/"1\.0" is not of the form X\.Y\.Z/, '1.0');
  refuses(/missing required argument/);
  refuses(/ is not greater than .*, the last release/, version());
  edit('README.md', (text) => `${text}\nMore.\n`);
  refuses(/changes that are not committed/, '9.0.0');
  edit('deploy/kubernetes/migration.yaml', (text) => text.replaceAll('petstore-migrate', 'shop-migrate'));
  commit();
  refuses(/npm run check is red[\s\S]*"shop" stands where petstore belongs/, '9.0.0');
  edit('CHANGELOG.md', (text) => text.replace('- Something.', ''));
  commit();
  refuses(/CHANGELOG\.md has no entry under "## Unreleased"/, '9.0.0');
  tags = 'v9.0.0';
  git('tag', tags);
  refuses(/there is a tag v9\.0\.0 already/, '9.0.0');
});
