/** The command against a server with mutual TLS: it presents the certificate of its host. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { TestFn } from 'ava';
import { createClient } from '../../src/client/index.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';
import { MAIN, petstore, type Settings } from './command.ts';

interface Context {
  /** The settings of the server's host. */
  readonly settings: Settings;
  /** Returns the settings that select the certificate with this name. */
  readonly identity: (name: string) => Settings;
  readonly address: string;
  /** The certificate file of another authority. */
  readonly otherCa: string;
  readonly close: () => Promise<void>;
}

const test: TestFn<Context> = testUnless<Context>(noOpenssl);
const HOST = '127.0.0.2';

test.before(async (t) => {
  const [certificates, folder, [port = 0]] = await Promise.all([makeCertificates(), createDataDir(), freePorts(1)]);
  await certificates.issue('petstore-0', `IP:${HOST},DNS:petstore-0,DNS:localhost`);
  await certificates.issue('nameless', `IP:${HOST}`);
  const identity = (name: string) => ({
    INTERNAL_TLS_CERT: certificates.path(`${name}.pem`),
    INTERNAL_TLS_KEY: certificates.path(`${name}-key.pem`),
  });
  const settings = {
    ...{ DATA_DIR: folder.path, GRPC_HOST: HOST, GRPC_PORT: String(port), DEMO_ACCOUNT: 'yes' },
    ...{ INTERNAL_TLS_CA: certificates.path('ca.pem'), ...identity('petstore-0') },
  };
  const server = new TestProcess('src/main.ts', settings);
  await server.says(/"serving"/);
  const close = async () => {
    await server.end('SIGKILL');
    await Promise.all([certificates.remove(), folder.remove()]);
  };
  t.context = { settings, identity, address: `${HOST}:${port}`, otherCa: certificates.path('stranger.pem'), close };
});
test.after.always((t) => t.context.close?.());

function list({ GRPC_PORT, DATA_DIR = '', ...env }: Settings, ...args: string[]) {
  const command = petstore({ config: { grpcPort: Number(GRPC_PORT), dataDir: DATA_DIR } });
  return command(['account', 'list', '--json', ...args], env);
}

test("mutual TLS - the command works with the settings of the server's host alone", async (t) => {
  const { exitCode, stdout, stderr } = await list(t.context.settings);
  t.deepEqual([exitCode, stderr], [0, '']);
  t.is(JSON.parse(stdout)[0].name, 'Demo');
});

test('mutual TLS - events are followed with an API key', async (t) => {
  const { settings, address } = t.context;
  const read = (name: string) => readFile(settings[name] ?? '', 'utf8');
  const [ca, cert, key] = await Promise.all([
    ...([read('INTERNAL_TLS_CA'), read('INTERNAL_TLS_CERT'), read('INTERNAL_TLS_KEY')] as const),
  ]);
  const keyFile = `${settings.DATA_DIR}/demo.key`;
  const apiKey = (await readFile(keyFile, 'utf8')).trim();
  const client = createClient({ address, apiKey, tls: { ca, cert, key, serverName: 'petstore-0' } });
  await client.categories.createCategory({ category: { name: 'Cats' } });
  await client.close();
  const args = [MAIN, 'events', 'tail', '--after', '0', '--key-file', keyFile];
  const tail = spawn(process.execPath, args, { env: { PATH: process.env.PATH ?? '', ...settings } });
  t.teardown(() => tail.kill('SIGKILL'));
  const [line] = await once(tail.stdout, 'data');
  t.regex(String(line), /^1 {2}\S+ {2}category\.created {2}\{"category":\{"id":1,"name":"Cats"\}\}\n$/);
  tail.kill('SIGINT');
  t.deepEqual(await once(tail, 'close'), [0, null]);
});

test('mutual TLS - a server of another authority is refused, and a call without TLS fails', async (t) => {
  const { settings, otherCa, address } = t.context;
  const { DATA_DIR = '', GRPC_PORT = '' } = settings;
  const untrusting = await list({ ...settings, INTERNAL_TLS_CA: otherCa });
  const plain = await list({ DATA_DIR, GRPC_PORT }, '--address', address);
  t.deepEqual([untrusting.exitCode, plain.exitCode], [1, 1]);
  const start = 'start the service with "npm start", or name another --address';
  t.deepEqual(JSON.parse(untrusting.stderr), {
    code: 'SERVER_AWAY',
    message: `nothing answers at ${address} by mutual TLS: ${start}`,
  });
  const settingsOfTls = 'INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
  t.is(
    JSON.parse(plain.stderr).message,
    `nothing answers at ${address}: ${start}; a server with mutual TLS answers only with its host's ${settingsOfTls}`,
  );
});

test('mutual TLS - a certificate without a DNS name requires a name in --address', async (t) => {
  const { settings, identity } = t.context;
  const { exitCode, stderr } = await list({ ...settings, ...identity('nameless') });
  t.is(exitCode, 2);
  t.is(
    JSON.parse(stderr).message,
    `--address must name the server, not ${HOST}: INTERNAL_TLS_CERT has no name to expect there`,
  );
});
