/**
 * The npm packages of the lockfile, at one of two levels: what the service needs to run, or the tools as well. What is
 * there is kept where it fits: tools are added without building sqlite3 again, and are not removed by a later start.
 *
 * `node_modules/.installed-for` says how far an installation is: the lockfile's digest, the level, and `unbuilt` while
 * the packages' own build steps have not been run, Node's excepted.
 */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fail, ROOT, run } from './run.mjs';

/** @typedef {'run' | 'tools'} Level */

const FOLDER = `${ROOT}/node_modules`;
const STAMP = `${FOLDER}/.installed-for`;
const HINTS = {
  fetch: 'is the npm registry reachable?',
  build: 'is the npm registry reachable, and are there make, a C++ compiler and Python 3 for sqlite3?',
};
const NODE = 'node_modules/node';
const QUIET = ['--no-audit', '--no-fund', '--loglevel=error'];

/** @param {Level} wanted */
export async function installPackages(wanted) {
  // A link belongs to another checkout (a git worktree), which installs for itself.
  if (lstatSync(FOLDER, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const lock = readFileSync(`${ROOT}/package-lock.json`, 'utf8');
  const pins = createHash('sha256').update(lock).digest('hex');
  const found = readStamp();
  const level = found?.level === 'tools' ? 'tools' : wanted;
  if (found?.pins === pins && found.level === level && found.isBuilt) return;

  /** @type {Packages} */
  const packages = JSON.parse(lock).packages;
  checkLock(packages);
  const omit = level === 'run' ? ['--omit=dev'] : [];
  const what = level === 'run' ? 'installing npm packages' : 'installing npm packages with the developer tools';
  const progress = () => countPackages(packages, level);
  process.stderr.write('Installing what is missing. The first time this takes a minute or two.\n');

  if (found?.isBuilt) {
    if (found.pins !== pins)
      rmSync(STAMP); // an interruption leaves neither the old packages nor the new ones
    else removeTools(packages);
    await run(['npm', 'install', '--no-save', ...omit, ...QUIET], { what, progress, hint: HINTS.build });
  } else {
    if (found?.pins !== pins || found.level !== level) {
      await run(['npm', 'ci', '--ignore-scripts', ...omit, ...QUIET], { what, progress, hint: HINTS.fetch });
      // When it is interrupted, Node's own installation can't be run again: all is fetched anew then.
      await build(['node'], { what: 'fetching Node', hint: HINTS.fetch });
      writeFileSync(STAMP, `${pins} ${level} unbuilt`);
    }
    const others = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript && path !== NODE);
    const names = others.map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    await build(names, { what: 'building sqlite3', hint: HINTS.build });
    // What the build steps have fetched and copied: Node's headers and documentation, 60 MB of them.
    await run(['npm', 'prune', '--no-save', ...omit, ...QUIET], { what: 'tidying up', hint: HINTS.fetch });
  }
  writeFileSync(STAMP, `${pins} ${level}`);
}

/**
 * Runs the build steps of those packages that are there.
 * @param {readonly string[]} names
 * @param {{ what: string, hint: string }} texts
 */
async function build(names, texts) {
  const there = names.filter((name) => existsSync(`${FOLDER}/${name}`));
  if (there.length > 0) await run(['npm', 'rebuild', ...there, ...QUIET], texts);
}

/** An installation of an earlier release had all packages, and a stamp of the digest alone. */
function readStamp() {
  if (!existsSync(STAMP)) return undefined;
  const [pins, level = 'tools', state] = readFileSync(STAMP, 'utf8').split(' ');
  return { pins, level, isBuilt: state !== 'unbuilt' };
}

/**
 * @typedef {object} Package
 * @property {boolean} [dev] only for tools
 * @property {boolean} [devOptional] for tools, or optional
 * @property {boolean} [optional]
 * @property {boolean} [hasInstallScript]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 *
 * @typedef {Record<string, Package>} Packages by path; the empty path is this one
 */

/**
 * The lockfile is law: npm itself would look for other versions when package.json disagrees with it.
 * @param {Packages} packages
 */
function checkLock(packages) {
  const named = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'));
  for (const kind of /** @type {const} */ (['dependencies', 'devDependencies'])) {
    if (JSON.stringify(sorted(named[kind])) === JSON.stringify(sorted(packages['']?.[kind]))) continue;
    fail(`package.json and package-lock.json differ in their ${kind}: run "npm install --package-lock-only"`);
  }
}

/** @param {Record<string, string>} [versions] */
function sorted(versions = {}) {
  return Object.entries(versions).sort(([a], [b]) => (a < b ? -1 : 1));
}

/**
 * Where only what runs is installed there are no tools, unless adding them was interrupted. npm would believe that one
 * which is half unpacked is whole.
 * @param {Packages} packages
 */
function removeTools(packages) {
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev) rmSync(`${ROOT}/${path}`, { recursive: true, force: true });
  }
}

/**
 * @param {Packages} packages
 * @param {Level} level
 */
function countPackages(packages, level) {
  const needed = Object.entries(packages).filter(
    ([path, { dev, devOptional, optional }]) => path !== '' && !optional && !devOptional && (level === 'tools' || !dev),
  );
  const there = needed.filter(([path]) => existsSync(`${ROOT}/${path}/package.json`));
  return `${there.length} of ${needed.length}`;
}
