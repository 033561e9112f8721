/**
 * Each script of package.json as the first command on a machine whose Node is the oldest. The packages are stand-ins:
 * an `npm ci` that makes them, and in them tools and a `node` that only write down what they were to run.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { findOldestNode, findProgram, missing, missingNode, sh } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/scope.ts';
import { testUnless } from '../support/service/sharing.ts';

const oldest = findOldestNode();
const READ = ['scripts/bootstrap.mjs', 'envoy/requirements.txt', 'test/contract/requirements.txt'];
const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(readFileSync('package.json', 'utf8'));
const names = Object.keys(scripts).filter((name) => !name.startsWith('check:'));

for (const shell of ['dash', 'bash']) {
  const test = testUnless(missingNode(oldest) ?? missing(shell));
  test(`First command - each script installs, then runs on the Node it has installed; sh is ${shell}`, async (t) => {
    const { root, env } = freshMachine(t, shell);
    for (const name of names) {
      await t.notThrowsAsync(sh('npm', ['run', name], { cwd: root, env }), name);
      const [first = '', ...others] = readFileSync(`${root}/ran`, 'utf8').trimEnd().split('\n');
      t.regex(first, /^machine's node: scripts\/bootstrap\.mjs/, name);
      const isAsItShould = others.length > 0 && others.every((line) => line.startsWith('installed node: '));
      t.true(isAsItShould, `${name}: ${others}`);
      for (const made of ['node_modules', '.envoy', '.schemathesis', 'ran']) {
        rmSync(`${root}/${made}`, { recursive: true, force: true });
      }
    }
  });
}

/** A copy of what an installation reads, and the environment of a machine that has nothing else of the project. */
function freshMachine(t: ExecutionContext, shell: string) {
  const [root, machine, packages] = [temporaryFolder(t), temporaryFolder(t), temporaryFolder(t)];
  const ran = `${root}/ran`;
  for (const file of ['package.json', 'package-lock.json', ...READ]) cpSync(`${ROOT}/${file}`, `${root}/${file}`);
  const program = (path: string, text: string) => writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  for (const kind of ['run', 'tools']) {
    mkdirSync(`${packages}/${kind}`);
    const tools = kind === 'run' ? [] : readdirSync(`${ROOT}/node_modules/.bin`);
    for (const tool of tools) writeFileSync(`${packages}/${kind}/${tool}`, '#!/usr/bin/env node\n', { mode: 0o755 });
    program(`${packages}/${kind}/node`, `echo "installed node: $*" >>${ran}`);
  }
  program(
    `${machine}/npm`,
    `case $* in
    'ci --omit=dev '*) packages=run ;;
    'ci '*) packages=tools ;;
    'prune '*) exit ;;
    *) exec ${findProgram(['npm'])} "$@" ;;
    esac
    mkdir node_modules && cp -R ${packages}/$packages node_modules/.bin`,
  );
  program(`${machine}/python3`, 'mkdir -p .envoy .schemathesis');
  const note = `case $1 in */npm*) ;; *) echo "machine's node: $*" >>${ran} ;; esac`;
  program(`${machine}/node`, `${note}\nexec ${oldest} "$@"`);
  symlinkSync(findProgram([shell]) ?? '', `${machine}/sh`);
  return { root, env: { PATH: `${machine}:/usr/bin:/bin`, HOME: machine, NO_UPDATE_NOTIFIER: '1' } };
}
