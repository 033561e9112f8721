/**
 * Takes the platform of a revision into a service of one's own (docs/own-service.md): all but the shop, under the names
 * of src/identity.ts. What is taken are the commits of the branch `platform`, and git merges what differs from one to
 * the next: a file that is called otherwise here loses nothing. The first one also brings the sample.
 *
 *   npm run own -- upstream/main
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { API_PACKAGE, KEY_PREFIXES, NAME, TITLE } from '../src/identity.ts';

interface Names {
  readonly NAME: string;
  readonly TITLE: string;
  readonly API_PACKAGE: string;
  readonly COMMON_WORDS?: readonly string[];
  readonly KEY_PREFIXES: { readonly account: string; readonly operator: string };
}

const OWN: Names = { NAME, TITLE, API_PACKAGE, KEY_PREFIXES };
const PROTO = `proto/${API_PACKAGE.split('.', 1)[0]}`;
/** What a service writes itself: the platform has none of it. */
const PAGES = ['docs/callers', 'docs/client.md', 'docs/clients.md', 'docs/guarantees.md', 'README.md', 'CHANGELOG.md'];
const YOURS = ['src/identity.ts', PROTO, 'src/shop', 'test/shop', 'test/upgrades', ...PAGES];
/** What tests, measures or shows the shop of the revision. */
const ITS_SHOP = ['src/shop', 'test/shop', 'test/examples', 'test/upgrades', 'bench', 'examples'];
/** These get the names by the code, or are generated. */
const NAMELESS = /^(gen\/|src\/.*\.(ts|lua)$|envoy\/|scripts\/|third_party\/|docs\/own-service\.md$|CHANGELOG\.md$)/;
const PATH = /`([\w.-]+\/[\w./{},*@-]*)`/g;

const here = resolve(import.meta.dirname, '..');
const tree = mkdtempSync(join(tmpdir(), `${NAME}-platform-`));
const options = { cwd: tree, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
const git = (...args: string[]) => run(tree, 'git', ...args);
const gitHere = (...args: string[]) => run(here, 'git', ...args);
const tool = (name: string) => join(here, 'node_modules/.bin', name);
const say = (what: string) => process.stderr.write(`${what}\n`);
const filesOf = () => git('ls-files').split('\n');

function run(cwd: string, program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { ...options, cwd });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout.trim();
}

/** The function that puts the names `theirs` in the place of `ours`. */
function renaming(ours: Names, theirs: Names): (text: string) => string {
  const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
  const titleCase = (text: string) => text.split(' ').map(capital).join(' ');
  const pairs = [
    [ours.API_PACKAGE, theirs.API_PACKAGE],
    [ours.API_PACKAGE.replaceAll('.', '/'), theirs.API_PACKAGE.replaceAll('.', '/')],
    ...(ours.TITLE === ours.NAME ? [] : [String, capital, titleCase]).map(
      (form) => [form(ours.TITLE), form(theirs.TITLE)] as const,
    ),
    ...[String, capital].map((form) => [form(ours.NAME), form(theirs.NAME)] as const),
    [ours.KEY_PREFIXES.account, theirs.KEY_PREFIXES.account],
    [ours.KEY_PREFIXES.operator, theirs.KEY_PREFIXES.operator],
  ] as const;
  const by = new Map<string, string>(pairs.toReversed());
  const prefixes = Object.values(ours.KEY_PREFIXES);
  const words = pairs.map(([one]) =>
    prefixes.includes(one) ? `(?<!(?<!\\\\)[A-Za-z0-9_])${one}` : one.replaceAll('.', '\\.'),
  );
  const any = new RegExp(words.join('|'), 'g');
  return (text) => text.replace(any, (found) => by.get(found) ?? found);
}

function rename(files: readonly string[], renamed: (text: string) => string, nameless: RegExp): void {
  for (const file of files) {
    const [from, to] = [join(tree, file), join(tree, renamed(file))];
    if (lstatSync(from).isSymbolicLink()) {
      const target = readlinkSync(from);
      unlinkSync(from);
      symlinkSync(renamed(target), from);
    } else if (!nameless.test(file)) {
      const bytes = readFileSync(from);
      const text = bytes.toString('utf8');
      if (!bytes.includes(0) && renamed(text) !== text) writeFileSync(from, renamed(text));
    }
    if (from === to) continue;
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
  }
}

/** Deletes the tests that name its shop, or a file beside them does: they run there for each change of the platform. */
function deleteTestsOf(resources: readonly string[]): void {
  const stems = resources.map((name) => name.replace(/ies$|y$|s$/, ''));
  const words = new RegExp(`\\b(?:${stems.join('|')})(?:y|ies|s)?\\b|(?:${stems.join('|')})service`, 'i');
  for (const file of filesOf().filter((one) => /^test\/(?!shop\/).*\.test\.ts$/.test(one))) {
    const text = readFileSync(join(tree, file), 'utf8');
    const beside = Array.from(text.matchAll(/from '\.\/([\w-]+\.ts)'/g), ([, name = '']) => join(dirname(file), name));
    const texts = [text, ...beside.map((one) => readFileSync(join(tree, one), 'utf8'))];
    if (texts.some((one) => words.test(one))) git('rm', '-fq', file);
  }
}

/** Deletes the tests that no longer compile without the shop of the revision, and those that need these. */
function deleteBrokenTests(): void {
  for (;;) {
    const { stdout } = spawnSync(tool('tsc'), ['--pretty', 'false'], options);
    const broken = new Set(Array.from(stdout.matchAll(/^(test\/(?!shop\/)[^(]*)\(/gm), ([, file = '']) => file));
    if (broken.size === 0) return void process.stderr.write(stdout); // what is left is in the shop, and its to mend
    git('rm', '-fq', ...broken);
  }
}

/** In pages that explain by the shop of the revision, says of each path that is only there that it is. */
function nameUpstream(theirs: Names): void {
  const itsNames = renaming(OWN, theirs);
  const folders = new Set(filesOf().map((file) => file.split('/', 1)[0]));
  for (const file of filesOf().filter(
    (one) => one.endsWith('.md') && !['gen', ...YOURS].some((path) => one.startsWith(path)),
  )) {
    const text = readFileSync(join(tree, file), 'utf8');
    const isGone = (path: string) =>
      folders.has(path.split('/', 1)[0]) &&
      [tree, join(tree, dirname(file))].every((cwd) => globSync(path, { cwd }).length === 0);
    const named = text.replace(PATH, (whole, path: string) =>
      isGone(path) ? `\`upstream:${itsNames(path)}\`` : whole,
    );
    if (named !== text) writeFileSync(join(tree, file), named);
  }
}

/**
 * What a service needs in package.json: exports and packages whose only users are deleted tests stay. Those that run
 * alone may all be gone, and then ava would find none.
 */
function ownPackage(): void {
  const file = join(tree, 'package.json');
  const its = JSON.parse(readFileSync(file, 'utf8'));
  its.knip.ignore = ['{test,src/platform,envoy,scripts}/**'];
  its.scripts['check:unused'] += ' --exclude devDependencies,binaries';
  if (!filesOf().some((one) => one.endsWith('.alone.test.ts')))
    its.scripts.test = its.scripts.test.replace(/ && ava --concurrency=1 [^&]+$/, '');
  writeFileSync(file, `${JSON.stringify(its, null, 2)}\n`);
}

/** Puts the shop into the tree: of the sample, or the one that is here. */
function addShop(sample: string | undefined): void {
  if (sample === undefined) {
    const own = YOURS.filter((path) => gitHere('ls-tree', 'HEAD', path) !== '');
    git('rm', '-rfq', '--ignore-unmatch', ...PAGES);
    git('checkout', gitHere('rev-parse', 'HEAD'), '--', ...own);
    return;
  }
  const { names, files } = {
    names: JSON.parse(readFileSync(join(sample, 'names.json'), 'utf8')),
    files: [] as string[],
  };
  for (const entry of readdirSync(sample, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name).slice(sample.length + 1);
    if (entry.isFile() && file !== 'names.json') files.push(file);
  }
  for (const file of files) cpSync(join(sample, file), join(tree, file));
  rename(files, renaming(names, OWN), /^$/);
}

/** Makes the commit of the platform; the first time, that of the service too. */
async function take(revision: string): Promise<void> {
  const commit = gitHere('rev-parse', `${revision}^{commit}`);
  const known = spawnSync('git', ['rev-parse', '-q', '--verify', 'refs/heads/platform'], { ...options, cwd: here });
  const before = known.stdout.trim();
  const theirs: Names = await import(join(tree, 'src/identity.ts'));
  const [itsPackage = ''] = theirs.API_PACKAGE.split('.', 1);
  const resources = readdirSync(join(tree, 'src/shop'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['migrations', ...(theirs.COMMON_WORDS ?? [])].includes(entry.name))
    .map(({ name }) => name);
  const sample = join(tree, 'build/sample');
  if (before === '') {
    const [found = ''] = globSync('examples/*/names.json', { cwd: tree });
    cpSync(join(tree, dirname(found)), sample, { recursive: true });
  }
  say(`taking the platform of ${commit} under the names of src/identity.ts`);
  git('rm', '-rq', '--ignore-unmatch', 'gen', `proto/${itsPackage}`, ...ITS_SHOP);
  rename(filesOf(), renaming(theirs, OWN), NAMELESS);
  cpSync(join(here, 'src/identity.ts'), join(tree, 'src/identity.ts'));
  symlinkSync(join(here, 'node_modules'), join(tree, 'node_modules'));
  addShop(before === '' ? sample : undefined);
  rmSync(sample, { recursive: true, force: true });
  const add = () => {
    git('add', '-A');
    git('rm', '-q', '--cached', '--ignore-unmatch', 'node_modules'); // the link
  };
  say('generating gen/');
  run(tree, tool('buf'), 'format', 'proto', '--write');
  run(tree, process.execPath, 'scripts/generate.ts');
  add();
  say('leaving out the tests of its shop, which takes a minute');
  deleteTestsOf(resources);
  deleteBrokenTests();
  ownPackage();
  run(tree, tool('biome'), 'check', '--write');
  nameUpstream(theirs);
  add();
  const whole = git('write-tree');
  git('rm', '-rq', '--cached', '--ignore-unmatch', 'gen', ...YOURS);
  const parents = before === '' ? ['-p', commit] : ['-p', before, '-p', commit];
  const platform = git('commit-tree', git('write-tree'), ...parents, '-m', `Take the platform of ${commit}`);
  gitHere('update-ref', 'refs/heads/platform', platform);
  if (before === '') {
    gitHere('reset', '--hard', '-q', git('commit-tree', whole, '-p', platform, '-m', `Begin ${TITLE}`));
  } else {
    const { status } = spawnSync('git', ['merge', '--no-edit', 'platform'], { cwd: here, stdio: 'inherit' });
    process.exitCode = status ?? 1;
  }
}

const HELP = `npm run own -- REVISION

Takes the platform of REVISION, such as upstream/main, into a service of one's own, under the names of src/identity.ts:
the first time it makes the service out of the sample, in two commits; later it merges what the platform has changed
since, by way of the branch "platform". Commit everything first. docs/own-service.md tells the rest.
`;

const [revision] = process.argv.slice(2);
if (revision === '--help' || revision === '-h') {
  process.stdout.write(HELP);
  process.exit();
}
if (revision?.startsWith('-')) throw new Error(`there is no option ${revision}: npm run own -- --help`);
const changed = gitHere('status', '--porcelain', '--untracked-files=no').split('\n');
if (revision === undefined) throw new Error('say which revision: npm run own -- upstream/main');
if (changed.some((line) => line !== '' && !line.endsWith('src/identity.ts')))
  throw new Error('commit everything first');
gitHere('worktree', 'add', '-q', '--detach', tree, revision);
try {
  await take(revision);
} finally {
  gitHere('worktree', 'remove', '--force', tree);
}
