/** Starts that fail: one clear line, exit code 1, nothing left running. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import { createServer } from 'node:net';
import { readConfig } from '../../src/config/config.ts';
import { startStack } from '../../src/launcher/stack.ts';
import { freePorts } from '../support/ports.ts';
import { TestProcess } from '../support/process.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

/** Starts the service in this process. Resolves with the message of the error. */
async function refusal(t: Test, more: Readonly<Record<string, string>>): Promise<string> {
  const error = await startStack(readConfig({ ...t.context.settings, ...more })).then(
    (stack) => stack.stop().then(() => new Error('it started')),
    (reason: Error) => reason,
  );
  return error.message;
}

for (const setting of ['PORT', 'GRPC_PORT', 'ENVOY_ADMIN_PORT', 'METRICS_PORT', 'HTTP_PORT']) {
  test(`Start - with a busy ${setting} says which port is busy and what to do`, async (t) => {
    const port = t.context.settings[setting] ?? String((await freePorts(1))[0]);
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(Number(port), '127.0.0.1', resolve));
    const tls = setting === 'HTTP_PORT' ? { TLS_CERT: '/cert.pem', TLS_KEY: '/key.pem' } : {};
    const line = `port ${port} is busy: stop what listens there, or set ${setting} to another port`;
    t.is(await refusal(t, { ...tls, [setting]: port }), line);
    other.close();
  });
}

test('Start - with several servers reports which of their ports is busy', async (t) => {
  const port = Number(t.context.settings.GRPC_PORT) + 1;
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
  t.teardown(() => other.close());
  const shared = { DATABASE_URL: 'postgres://127.0.0.1/petstore', REDIS_URL: 'redis://127.0.0.1' };
  t.regex(await refusal(t, { INSTANCES: '2', ...shared }), new RegExp(`^port ${port} is busy: .* set GRPC_PORT to`));
});

test('Start - without a usable address, Envoy or data folder says what is wrong', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  const log = `${folder}/logs/envoy.log`;
  for (const [settings, line] of [
    [{ HOST: '203.0.113.1' }, 'HOST 203.0.113.1 is no address of this machine'],
    [{ ENVOY: '/nonexistent' }, 'there is no Envoy at /nonexistent: run "npm start", or set ENVOY'],
    [{ ENVOY: '/tmp' }, `Envoy ended unexpectedly (exit code 126): see ${log}`],
    [{ ENVOY: '/bin/false' }, `Envoy ended unexpectedly (exit code 1): see ${log}`],
  ] as const) {
    t.is(await refusal(t, settings), line);
  }
  const file = `${folder}.txt`;
  writeFileSync(file, '');
  t.regex(await refusal(t, { DATA_DIR: file }), /(?:EEXIST|ENOTDIR).*the data/);
});

test('Start - in a data folder that is shared like /tmp, or of another user, changes nothing', async (t) => {
  const folder = t.context.settings.DATA_DIR ?? '';
  const advice = 'set DATA_DIR to a folder that this user alone can open';
  mkdirSync(folder);
  await chmod(folder, 0o1777);
  t.is(await refusal(t, {}), `${folder} is shared by several users: ${advice}`);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, 65_534, 65_534);
  t.regex(await refusal(t, isRoot ? {} : { DATA_DIR: '/' }), new RegExp(` belongs to another user: ${advice}$`));
  t.deepEqual(readdirSync(folder), []);
});

// test/config.test.ts has the settings that are wrong by themselves. They are printed as `PORT` is.
for (const [setting, line] of [
  ['PORT=abc', 'PORT must be a port from 1 to 65535, not "abc"'],
  ['SERVERS=localhost:1', /^SERVERS is for npm run edge: unset it, as npm start starts Envoy and its servers/],
  ['GRPC_HOST=127.0.0.2', /^GRPC_HOST is for npm run server: unset it, as npm start/],
  ['LOGS=stdout', /^LOGS is for npm run edge: unset it, as npm start/],
] as const) {
  test(`Start - with ${setting} says what it should be`, (t) =>
    refusedWith(t, launch(t, Object.fromEntries([setting.split('=')])), line));
}

for (const program of ['launcher/main', 'launcher/server-main', 'launcher/edge-main', 'migrate-main']) {
  test(`Start - ${program} reports a misspelled setting and never shows its value`, async (t) => {
    const settings = { ...t.context.settings, DATABSE_URL: 'postgres://me:secret@host/shop', LOG_LEVEL: 'loud' };
    const started = new TestProcess(`src/${program}.ts`, settings);
    t.is((await started.ended).code, 1);
    const [warning, failure] = started.errors.split('\n');
    t.is(warning, 'petstore: the environment has DATABSE_URL, which is no setting: did you mean DATABASE_URL?');
    t.regex(failure ?? '', /^petstore: LOG_LEVEL must be one of /);
    t.notRegex(started.output + started.errors, /secret/);
  });
}
