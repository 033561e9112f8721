/** The command where servers speak mutual TLS: it shows the certificate of its host. */
import type { TestFn } from 'ava';
import { freePorts } from '../support/ports.ts';
import { createDataDir, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';
import { ROOT, run } from './command.ts';

interface Context {
  /** The settings of the server's host. */
  readonly settings: Readonly<Record<string, string>>;
  /** The certificate of that name instead. */
  readonly identity: (name: string) => Readonly<Record<string, string>>;
  readonly address: string;
  /** The file of another authority. */
  readonly strangers: string;
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
  t.context = { settings, identity, address: `${HOST}:${port}`, strangers: certificates.path('stranger.pem'), close };
});
test.after.always((t) => t.context.close?.());

function list(settings: Readonly<Record<string, string>>, ...args: string[]) {
  return run(process.execPath, [`${ROOT}src/cli/main.ts`, 'account', 'list', '--json', ...args], settings);
}

test('mutual TLS - on the host of a server the command asks it, with no more than the settings', async (t) => {
  const { exitCode, stdout, stderr } = await list(t.context.settings);
  t.deepEqual([exitCode, stderr], [0, '']);
  t.is(JSON.parse(stdout)[0].name, 'Demo');
});

test('mutual TLS - no request goes to a server without a certificate of the authority', async (t) => {
  const { settings, strangers, address } = t.context;
  const { DATA_DIR = '', GRPC_PORT = '' } = settings;
  const untrusting = await list({ ...settings, INTERNAL_TLS_CA: strangers });
  const plain = await list({ DATA_DIR, GRPC_PORT }, '--address', address);
  t.deepEqual([untrusting.exitCode, plain.exitCode], [1, 1]);
  const start = 'start the service with "npm start", or name another --address';
  t.deepEqual(JSON.parse(untrusting.stderr), {
    code: 'SERVER_AWAY',
    message: `nothing answers at ${address} by mutual TLS: ${start}`,
  });
  t.is(JSON.parse(plain.stderr).message, `nothing answers at ${address}: ${start}`);
});

test('mutual TLS - a certificate without a name says that the server must be named', async (t) => {
  const { settings, identity } = t.context;
  const { exitCode, stderr } = await list({ ...settings, ...identity('nameless') });
  t.is(exitCode, 2);
  t.is(
    JSON.parse(stderr).message,
    `--address must name the server, not ${HOST}: INTERNAL_TLS_CERT has no name to expect there`,
  );
});
