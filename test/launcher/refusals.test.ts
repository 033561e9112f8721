/** `npm start` that fails: one clear line, exit code 1, nothing left running. */
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { freePorts } from '../support/ports.ts';
import { TestProcess } from '../support/process.ts';
import { launch, refusedWith, test } from './launch.ts';

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}

for (const setting of ['PORT', 'GRPC_PORT', 'ENVOY_ADMIN_PORT', 'METRICS_PORT']) {
  test(`Start - with a busy ${setting} says which port is busy and what to do`, async (t) => {
    const port = Number(t.context.settings[setting] ?? (await freePorts(1))[0]);
    const other = await occupy(port);
    const line = `port ${port} is busy: stop what listens there, or set ${setting} to another port`;
    await refusedWith(t, launch(t, { [setting]: String(port) }), line);
    other.close();
  });
}

test('Start - on the ports of a running service reports a busy port and does not affect that service', async (t) => {
  const first = launch(t);
  const { url } = await first.opened();
  const elsewhere = { DATA_DIR: `${t.context.settings.DATA_DIR}, another` };
  await refusedWith(t, launch(t, elsewhere), /^port \d+ is busy: /);
  t.is((await fetch(`${url}/healthz`)).status, 200);
});

// test/config.test.ts has the settings that are wrong by themselves. They are printed as `PORT` is.
const BAD = [
  [{ PORT: 'abc' }, 'PORT must be a port from 1 to 65535, not "abc"'],
  [{ HOST: '203.0.113.1' }, 'HOST 203.0.113.1 is no address of this machine'],
  [{ SERVERS: 'localhost:1' }, /^SERVERS is for npm run edge: unset it, as npm start starts Envoy and its servers/],
  [{ GRPC_HOST: '127.0.0.2' }, /^GRPC_HOST is for npm run server: unset it, as npm start/],
  [{ LOGS: 'stdout' }, /^LOGS is for npm run edge: unset it, as npm start/],
] as const;

for (const [settings, line] of BAD) {
  const title = Object.entries(settings).map((setting) => setting.join('='));
  test(`Start - with ${title.join(' ')} says what it should be`, (t) => refusedWith(t, launch(t, settings), line));
}

test('Start - without Envoy shows the path where it was expected', async (t) => {
  const line = 'there is no Envoy at /nonexistent: run "npm start", or set ENVOY';
  await refusedWith(t, launch(t, { ENVOY: '/nonexistent' }), line);
});

test('Start - reports an Envoy that is not a program or exits at once, with the path of its log', async (t) => {
  const log = `${t.context.settings.DATA_DIR}/logs/envoy.log`;
  await refusedWith(t, launch(t, { ENVOY: '/tmp' }), `Envoy ended unexpectedly (exit code 126): see ${log}`);
  await refusedWith(t, launch(t, { ENVOY: '/bin/false' }), `Envoy ended unexpectedly (exit code 1): see ${log}`);
});

test('Start - reports a data folder that is a file', async (t) => {
  const file = `${t.context.settings.DATA_DIR}`;
  writeFileSync(file, '');
  await refusedWith(t, launch(t), /(?:EEXIST|ENOTDIR).*the data/);
});

test('Start - reports a database file that is not a database', async (t) => {
  const first = launch(t);
  await first.opened();
  await first.end('SIGTERM');
  writeFileSync(`${t.context.settings.DATA_DIR}/petstore.sqlite`, 'this is no database, and never was one');
  await refusedWith(t, launch(t), /file is not a database/);
});

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
