/**
 * What `npm start` and `npm test` install, in a project of small packages: `runs`, which has a build step like
 * sqlite3's, `node`, and `tool`, which only `npm test` needs. They are files, so that no registry is needed.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { sh } from '../support/machine/find-program.ts';
import { temporaryFolder } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';

const SCRIPTS = new URL('../../scripts', import.meta.url).pathname;
/** Counts its runs, and does not end while the file `wait` exists. */
const BUILD = 'echo built >> $INIT_CWD/builds; while [ -e $INIT_CWD/wait ]; do sleep 0.1; done';

const test = sharing(undefined, async (t) => {
  const template = temporaryFolder(t);
  cpSync(SCRIPTS, join(template, 'scripts'), { recursive: true });
  await pack(template, 'runs', { install: BUILD });
  await pack(template, 'node', {});
  await pack(template, 'tool', {});
  const dependencies = { runs: 'file:runs-1.0.0.tgz', node: 'file:node-1.0.0.tgz' };
  const manifest = { name: 'small', version: '1.0.0', dependencies, devDependencies: { tool: 'file:tool-1.0.0.tgz' } };
  writeFileSync(join(template, 'package.json'), JSON.stringify(manifest));
  await sh('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: template });
  return { template };
});

function project(t: ExecutionContext<SharedBy<typeof test>>): string {
  const root = temporaryFolder(t);
  cpSync(t.context.template, root, { recursive: true });
  return root;
}

test('Installation - the first start installs no tools; they are added without a rebuild, and kept', async (t) => {
  const root = project(t);
  t.is((await bootstrap(t, root).ended).code, 0);
  t.deepEqual(installed(root), { runs: true, tool: false, builds: 1 });
  await bootstrap(t, root, 'tools').ended;
  const all = { runs: true, tool: true, builds: 1 };
  t.deepEqual(installed(root), all);
  const later = bootstrap(t, root);
  await later.ended;
  t.is(later.errors, '', 'a later start installs nothing');
  t.deepEqual(installed(root), all);

  const lock = join(root, 'package-lock.json');
  writeFileSync(lock, `${readFileSync(lock, 'utf8')}\n`);
  const next = bootstrap(t, root);
  await next.ended;
  t.regex(next.errors, /installing npm packages/);
  t.deepEqual(installed(root), all, 'a changed lockfile keeps the tools and a build that is still valid');
});

test('Installation - reports its progress; an interruption leaves no process, the next begins anew', async (t) => {
  const root = project(t);
  const build = join(root, 'wait');
  writeFileSync(build, '');
  const first = bootstrap(t, root);
  await until(() => /installing npm packages, \d+ s\n/.test(first.errors) && buildsIn(root) === 1, 'the build');
  t.is((await first.end('SIGINT')).code, 130);
  const { stdout } = await sh('ps', ['-eo', 'args']);
  t.false(stdout.includes(root));
  t.regex(first.errors, /Stopped while installing npm packages\.\n$/);
  t.false(first.errors.includes('\r') || first.errors.includes('\x1b'), 'plain lines without a terminal');
  mkdirSync(join(root, 'node_modules/tool'), { recursive: true });

  rmSync(build);
  t.is((await bootstrap(t, root).ended).code, 0);
  t.deepEqual(installed(root), { runs: true, tool: false, builds: 2 });
  t.false(existsSync(join(root, 'node_modules/tool')), 'what is half there is gone');
});

async function pack(root: string, name: string, scripts: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(root, `${name}-source`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', scripts }));
  writeFileSync(join(folder, 'index.js'), '');
  await sh('npm', ['pack', '--silent', `./${name}-source`], { cwd: root });
}

function bootstrap(t: Pick<ExecutionContext, 'teardown'>, root: string, ...args: string[]): Program {
  const env = { ...process.env, ENVOY: '/anywhere', INIT_CWD: root };
  const program = new Program(process.execPath, ['scripts/bootstrap.mjs', ...args], { cwd: root, env });
  t.teardown(() => program.end('SIGKILL'));
  return program;
}

function installed(root: string): { runs: boolean; tool: boolean; builds: number } {
  const has = (name: string) => existsSync(join(root, 'node_modules', name, 'index.js'));
  return { runs: has('runs'), tool: has('tool'), builds: buildsIn(root) };
}

/** Returns how often the build step has run. The shell creates the file before it writes the line. */
function buildsIn(root: string): number {
  const builds = join(root, 'builds');
  return existsSync(builds) ? readFileSync(builds, 'utf8').split('\n').length - 1 : 0;
}
