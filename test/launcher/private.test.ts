/** Only the owner can read what the service writes. Its processes expose no secret. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf } from '../support/launcher.ts';
import { startServerProcess, TestProcess } from '../support/process.ts';
import { RestClient } from '../support/rest-client.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

/** The permissions of the data folder and its contents, by path. */
function modesOf(t: Test): Map<string, string> {
  const folder = t.context.settings.DATA_DIR ?? '';
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(['', ...paths].map((path) => [path, (statSync(join(folder, path)).mode & 0o7777).toString(8)]));
}

const FILES = [
  'demo.key',
  'operator.key',
  'petstore.sqlite',
  'petstore.sqlite-wal',
  'petstore.sqlite-shm',
  'envoy.yaml',
  'logs/server.log',
  'logs/envoy.log',
  'logs/access.log',
  'logs/audit.log',
];

function isPrivate(t: Test): void {
  const modes = modesOf(t);
  for (const path of FILES) t.true(modes.has(path), path);
  for (const [path, mode] of modes) t.is(mode, path === '' || path === 'logs' ? '700' : '600', path);
}

/** Starts Node with a umask that leaves new files open to all users. */
const NO_UMASK = { NODE_OPTIONS: '--import=data:text/javascript,process.umask(0)' };

test('Files - are private to their owner, whatever the umask', async (t) => {
  const { url, key } = await launch(t, NO_UMASK).opened();
  await new RestClient(url, key).category();
  isPrivate(t);
});

test('Files - of a server without a launcher are private too', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const server = await startServerProcess(folder, NO_UMASK);
  for (const [path, mode] of modesOf(t)) t.is(mode, path === '' ? '700' : '600', path);
  server.grpc.close();
  await server.end('SIGTERM');
});

test('Files - a data folder that others can open is closed at the next start, and its logs too', async (t) => {
  const first = launch(t);
  await first.opened();
  await first.end('SIGTERM');
  const folders = ['', 'logs'].map((name) => join(t.context.settings.DATA_DIR ?? '', name));
  for (const folder of folders) chmodSync(folder, 0o777);
  await launch(t).opened();
  isPrivate(t);
});

test('Start - reports a data folder that is shared like /tmp, without the launcher too', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  const line = `${folder} is shared by several users: set DATA_DIR to a folder that this user alone can open`;
  await refusedWith(t, launch(t), line);
  const server = new TestProcess('src/main.ts', t.context.settings);
  t.deepEqual(await server.ended, { code: 1, signal: null });
  t.is(server.errors, `petstore: ${line}\n`);
  t.deepEqual(readdirSync(folder), []);
});

const isRoot = process.getuid?.() === 0;

test('Start - reports a data folder of another user', async (t) => {
  let folder = '/';
  if (isRoot) {
    folder = t.context.settings.DATA_DIR ?? '';
    mkdirSync(folder);
    await chown(folder, 65_534, 65_534);
  }
  const line = `${folder} belongs to another user: set DATA_DIR to a folder that this user alone can open`;
  await refusedWith(t, launch(t, { DATA_DIR: folder }), line);
});

const SECRETS = {
  OPERATOR_KEY: 'SECRET-key-of-the-operator',
  EDGE_SECRET: 'SECRET-of-the-edge',
  REDIS_URL: 'redis://:SECRET@127.0.0.1:1',
  AWS_SECRET_ACCESS_KEY: 'SECRET',
};

(process.platform === 'linux' ? test : test.skip)('Envoy - inherits none of the settings', async (t) => {
  const launcher = launch(t, { ...SECRETS, TZ: 'UTC' });
  await launcher.opened();
  const { server, envoy } = await launcher.pair();
  const environment = (pid: number) => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  t.true(environment(server.pid).includes(`OPERATOR_KEY=${SECRETS.OPERATOR_KEY}`));
  const helpers = await childrenOf(envoy.pid);
  t.is(helpers.length, 1);
  for (const { pid } of [envoy, ...helpers]) {
    const variables = environment(pid);
    t.true(variables.includes('TZ=UTC'));
    t.false(variables.some((variable) => variable.includes('SECRET')));
    for (const name of Object.keys(launcher.settings)) {
      if (name !== 'TZ')
        t.false(
          variables.some((variable) => variable.startsWith(`${name}=`)),
          name,
        );
    }
  }
});

(process.platform === 'linux' ? test : test.skip)('Processes - show no secret in their command lines', async (t) => {
  const launcher = launch(t, SECRETS);
  await launcher.opened();
  const { server, envoy } = await launcher.pair();
  const demoKey = readFileSync(join(launcher.settings.DATA_DIR ?? '', 'demo.key'), 'utf8').trim();
  for (const { pid } of [launcher, server, envoy, ...(await childrenOf(envoy.pid))]) {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    for (const secret of ['SECRET', demoKey]) t.false(commandLine.includes(secret), commandLine);
  }
});
