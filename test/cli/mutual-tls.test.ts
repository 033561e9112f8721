/** The command against a server with mutual TLS: it presents the certificate of its host. */
import type { TestFn } from 'ava';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';
import { petstore, type Settings } from './command.ts';

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

/** Runs a command whose settings are these alone. Returns its exit code, and its output or its error. */
async function outcome(settings: Settings, line: string) {
  const { exitCode, stdout, stderr } = await petstore(settings)(`${line} --json`.split(' '));
  const json = JSON.parse(stdout || stderr);
  return [exitCode, json.message ?? json[0].name];
}

test("mutual TLS - the command works with the settings of the server's host alone", async (t) => {
  const { settings } = t.context;
  t.deepEqual(await outcome(settings, 'account list'), [0, 'Demo']);
  const tail = `events tail --after 99 --key-file ${settings.DATA_DIR}/demo.key`;
  t.deepEqual(await outcome(settings, tail), [2, '--after 99 has not been reached: the newest event is 0']);
});

test('mutual TLS - another authority, no TLS, and a certificate without a name are errors', async (t) => {
  const { settings, identity, otherCa, address } = t.context;
  const { DATA_DIR = '', GRPC_PORT = '' } = settings;
  const start = 'start the service with "npm start", or name another --address';
  const names = 'INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
  for (const [given, line, ...expected] of [
    [{ ...settings, INTERNAL_TLS_CA: otherCa }, '', 1, `nothing answers at ${address} by mutual TLS: ${start}`],
    [
      ...[{ DATA_DIR, GRPC_PORT }, ` --address ${address}`, 1],
      `nothing answers at ${address}: ${start}; a server with mutual TLS answers only with its host's ${names}`,
    ],
    [
      ...[{ ...settings, ...identity('nameless') }, '', 2],
      `--address must name the server, not ${HOST}: INTERNAL_TLS_CERT has no name to expect there`,
    ],
  ] as [Settings, string, number, string][]) {
    t.deepEqual(await outcome(given, `account list${line}`), expected);
  }
});
