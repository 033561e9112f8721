/** Starts that fail: one clear line, exit code 1, nothing left running. */
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { chmod, chown, lchown, link, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { ConfigError, readConfig } from '../../src/platform/config/config.ts';
import { makePrivate, makeTrusted } from '../../src/platform/files/private-folder.ts';
import { startStack } from '../../src/platform/launcher/stack.ts';
import { checkFree } from '../../src/platform/process/ports.ts';
import { run } from '../cli/command.ts';
import { freePorts, listen, temporaryFolder } from '../support/scope.ts';
import { until } from '../support/until.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

/** Starts the service in this process. Resolves with the message of the error. */
async function refusal(t: Test, more: Readonly<Record<string, string>>): Promise<string> {
  const started = startStack(readConfig({ ...t.context.settings, ...more }));
  return (await t.throwsAsync(started.then((stack) => stack.stop())))?.message ?? '';
}

/** Only root can leave files of another user. */
const isRoot = process.getuid?.() === 0;

const TLS = { TLS_CERT: '/cert.pem', TLS_KEY: '/key.pem' };
const TWO = { INSTANCES: '2', DATABASE_URL: 'postgres://127.0.0.1/petstore', REDIS_URL: 'redis://127.0.0.1' };

for (const [setting, offset, more] of [
  ['PORT', 0, {}],
  ['GRPC_PORT', 0, {}],
  ['GRPC_PORT', 1, TWO],
  ['ENVOY_ADMIN_PORT', 0, {}],
  ['METRICS_PORT', 0, {}],
  ['HTTP_PORT', 0, TLS],
] as const) {
  test(`Start - with a busy ${setting}${offset === 0 ? '' : `+${offset}`} says which port is busy`, async (t) => {
    const [first, busy = first] = await freePorts(1 + offset);
    await listen(t, createServer(), busy);
    const line = `port ${busy} is busy: stop what listens there, or set ${setting} to another port`;
    t.is(await refusal(t, { ...more, [setting]: String(first) }), line);
  });
}

for (const [setting, value, line] of [
  ['HOST', '203.0.113.1', /^PORT can't be opened on 203\.0\.113\.1, port \d+: listen EADDRNOTAVAIL: address not .+$/],
  ['ENVOY', '/nonexistent', /^there is no Envoy at \/nonexistent: run "npm start", or set ENVOY$/],
  ['ENVOY', '/bin/false', /^Envoy ended unexpectedly \(exit code 1\): see \/.+\/the data\/logs\/envoy\.log$/],
] as const) {
  test(`Start - with ${setting}=${value}, which can not be used, says what is wrong`, async (t) => {
    t.regex(await refusal(t, { [setting]: value }), line);
  });
}

test('Start - in a data folder that is shared like /tmp, or of another user, changes nothing', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  const advice = 'set DATA_DIR to a folder that this user alone can open';
  mkdirSync(folder);
  await chmod(folder, 0o1777);
  t.is(await refusal(t, {}), `${folder} is shared by several users: ${advice}`);
  if (isRoot) await chown(folder, 65_534, 65_534);
  t.regex(await refusal(t, isRoot ? {} : { DATA_DIR: '/' }), new RegExp(` belongs to another user: ${advice}$`));
  t.deepEqual(readdirSync(folder), []);
});

test('Start - in a folder where another user has left something says what to remove', async (t) => {
  const folder = temporaryFolder(t);
  const [file, elsewhere] = [`${folder}/operator.key`, `${temporaryFolder(t)}/target`];
  const plants = [
    ['belongs to another user', 0o700, () => writeFile(file, generateKey('operator')).then(() => chown(file, 1, 1))],
    ['belongs to another user', 0o777, () => symlink(elsewhere, file).then(() => lchown(file, 1, 1))],
    ['is a file of another folder too', 0o777, () => writeFile(elsewhere, '').then(() => link(elsewhere, file))],
    ['could be changed by other users', 0o722, () => writeFile(file, '').then(() => chmod(file, 0o666))],
  ] as const;
  for (const [why, mode, plant] of isRoot ? plants : plants.slice(2)) {
    await chmod(folder, mode);
    await plant();
    await t.throwsAsync(makePrivate(folder), { instanceOf: ConfigError, message: `${file} ${why}: remove it` });
    t.deepEqual(readdirSync(folder), ['operator.key']);
    t.is(statSync(folder).mode & 0o777, 0o700, 'nobody can leave more there');
    await rm(file);
    await rm(elsewhere, { force: true });
  }
  await writeFile(file, 'x');
  await symlink(elsewhere, `${folder}/own link`);
  await t.notThrowsAsync(makePrivate(folder));
});

test('Backup - goes to no folder that others can change, and to none where they have left something', async (t) => {
  const folder = temporaryFolder(t);
  await chmod(folder, 0o775);
  const advice = 'name a folder that this user alone can change';
  await t.throwsAsync(makeTrusted(folder), { message: `${folder} can be changed by other users: ${advice}` });
  await chmod(folder, 0o755);
  await t.notThrowsAsync(makeTrusted(folder));
  t.is(statSync(folder).mode & 0o777, 0o755, 'others may read it');
  if (!isRoot) return;
  const file = `${folder}/petstore-20260101T000000Z.sqlite.part`;
  await symlink('/tmp/elsewhere', file).then(() => lchown(file, 1, 1));
  await t.throwsAsync(makeTrusted(folder), { message: `${file} belongs to another user: remove it` });
});

test('Start - with a setting of edges says what to do', async (t) => {
  const line = /^SERVERS is for npm run edge: unset it, as npm start starts Envoy and its servers/;
  await refusedWith(t, launch(t, { SERVERS: 'localhost:1' }), line);
});

test('Ports - a client who connects during the check does not hold up the start', async (t) => {
  const meetsCheck = async () => {
    const [port = 0, other = 0] = await freePorts(2);
    // The look-up of the name leaves time to connect.
    const checked = checkFree([
      ['PORT', '127.0.0.1', port],
      ['METRICS_PORT', 'localhost', other],
    ]);
    const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\n\r\n'));
    t.teardown(() => client.destroy());
    const hasMet = await once(client, 'connect').catch(() => undefined);
    await checked;
    return hasMet;
  };
  await t.notThrowsAsync(until(meetsCheck, 'a client who connects in time'));
});

// test/config.test.ts has the settings that are wrong by themselves. They are printed as `LOG_LEVEL` is.
for (const program of ['platform/launcher/main.ts', 'platform/launcher/edge-main.ts', 'main.ts', 'migrate-main.ts']) {
  test(`src/${program} - prints a bad setting in one line, without a key; takes no argument but --help`, async (t) => {
    const start = (...args: string[]) =>
      run(process.execPath, [`src/${program}`, ...args], { LOG_LEVEL: generateKey() });
    const refused = { exitCode: 1, stdout: '' };
    const bad = await start();
    t.like(bad, refused);
    t.regex(bad.stderr, /^petstore: LOG_LEVEL must be one of .*, not "\(a key\)"\n$/);
    const line = 'petstore: there are no arguments, only settings: see docs/settings.md\n';
    t.deepEqual(await start('--port=1'), { ...refused, stderr: line });
    const { exitCode, stdout } = await start('--help');
    t.deepEqual([exitCode, stdout.includes('docs/settings.md')], [0, true]);
  });
}
