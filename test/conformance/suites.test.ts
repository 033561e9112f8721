/**
 * The suites of the field: connectconformance, grpc-go's interoperability tests, h2spec. They call the services of
 * connectconformance and of grpc-go's tests, served by our own platform in a copy of the repository. What fails stands
 * in known-failing.txt with its reason; a case that begins to fail, or to pass, fails here.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { sh } from '../support/machine/find-program.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { temporaryFolder } from '../support/scope.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';
import { copyWithServices } from './copy.ts';
import { buildPrograms, go, noGo } from './programs.ts';

const KNOWN_FAILING = join(ROOT, 'test/conformance/known-failing.txt');

type Door = 'publicAddress' | 'grpcAddress' | 'secureAddress';

const test = sharing(noGo ?? noOpenssl, async (t) => {
  t.timeout(600_000, 'programs are fetched and compiled');
  const programs = await buildPrograms('tool', './descriptors');
  const suite = (await go(['list', '-m', '-f', '{{.Dir}}', 'connectrpc.com/conformance'])).trim();
  const { stdout: interop } = await sh(join(programs, 'descriptors'), [], { encoding: 'buffer' });
  const folder = temporaryFolder(t);
  copyWithServices(folder, join(suite, 'proto'), interop);
  const certificates = await makeCertificates(t);
  await certificates.issue('public', 'IP:127.0.0.1');
  const [TLS_CERT, TLS_KEY] = ['public.pem', 'public-key.pem'].map(certificates.path);
  const service = spawn(process.execPath, ['test/conformance/serve.ts', JSON.stringify({ TLS_CERT, TLS_KEY })], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    service.stdin.end();
    if (service.exitCode === null) await once(service, 'exit');
  });
  const [line] = await once(createInterface(service.stdout), 'line');
  const addresses: Readonly<Record<Door, string>> = JSON.parse(line);
  return { programs, folder, certificates, addresses };
});
type Context = SharedBy<typeof test>;

/** By the title of the section in known-failing.txt. */
const RUNS: Readonly<Record<string, readonly [Door, protocol: string]>> = {
  'gRPC, private port': ['grpcAddress', 'GRPC'],
  'gRPC, public port': ['publicAddress', 'GRPC'],
  'gRPC-Web, public port': ['publicAddress', 'GRPC_WEB'],
  'Connect, public port': ['publicAddress', 'CONNECT'],
  'gRPC, public port with TLS': ['secureAddress', 'GRPC'],
};

async function knownFailing(section: string): Promise<string[]> {
  const text = await readFile(KNOWN_FAILING, 'utf8');
  const lines = text.split(`## ${section}\n`)[1]?.split('\n## ')[0]?.split('\n') ?? [];
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

for (const [section, [door, protocol]] of Object.entries(RUNS)) {
  test.serial(`connectconformance - passes but for known-failing.txt: ${section}`, async (t) => {
    const { programs, folder, certificates } = t.context;
    const [isSecure, isUnary] = [door === 'secureAddress', protocol === 'CONNECT'];
    const features = {
      ...{ protocols: [`PROTOCOL_${protocol}`], codecs: ['CODEC_PROTO'] },
      versions: protocol === 'GRPC' ? ['HTTP_VERSION_2'] : ['HTTP_VERSION_1', 'HTTP_VERSION_2'],
      streamTypes: ['STREAM_TYPE_UNARY', ...(isUnary ? [] : ['STREAM_TYPE_SERVER_STREAM'])],
      compressions: ['COMPRESSION_IDENTITY', ...(isUnary ? [] : ['COMPRESSION_GZIP'])],
      ...{ supportsH2c: !isSecure, supportsTls: isSecure },
      ...{ supportsConnectGet: false, supportsMessageReceiveLimit: false },
    };
    const config = join(folder, 'features.yaml'); // JSON is YAML
    await writeFile(config, JSON.stringify({ features }));
    const failing = (await knownFailing(section)).flatMap((pattern) => ['--known-failing', pattern]);
    const ca = isSecure ? [String(await certificates.read('ca.pem'))] : [];
    const underTest = [process.execPath, join(ROOT, 'test/conformance/under-test.ts'), ...portOf(t, door), ...ca];
    const args = ['--mode', 'server', '--conf', config, ...failing, '--', ...underTest];
    const { output, code } = await outcome(sh(join(programs, 'connectconformance'), args));
    t.log(/Total cases.*/s.exec(output)?.[0].trim().replaceAll('\n', ', '));
    t.is(code, 0, output);
  });
}

/** Gateways and validators of programs in Go build on it. */
test('kin-openapi - accepts the description, its patterns and its examples', async (t) => {
  t.timeout(600_000, 'it is fetched and compiled');
  for (const file of ['openapi.json', 'openapi.yaml']) {
    await t.notThrowsAsync(go(['tool', 'validate', join(ROOT, 'gen/openapi', file)]), file);
  }
});

/** Those of unary calls and of streams in any direction, without credentials of others and load reports. */
const INTEROP = ['empty_unary', 'large_unary', 'client_streaming', 'server_streaming', 'ping_pong', 'empty_stream']
  .concat(['timeout_on_sleeping_server', 'cancel_after_begin', 'cancel_after_first_response'])
  .concat(['status_code_and_message', 'special_status_message', 'custom_metadata'])
  .concat(['unimplemented_method', 'unimplemented_service', 'pick_first_unary', 'rpc_soak', 'channel_soak']);

for (const [name, door] of [
  ['private port', 'grpcAddress'],
  ['public port', 'publicAddress'],
] as const) {
  test.serial(`grpc-go - its interoperability tests pass: ${name}`, async (t) => {
    const [host = '', port = ''] = portOf(t, door);
    const client = join(t.context.programs, 'client');
    for (const testCase of INTEROP) {
      const args = ['--test_case', testCase, '--server_host', host, '--server_port', port];
      let got = await outcome(sh(client, args));
      for (let tries = 1; tries < 3 && wasAnswered(testCase, got.output); tries += 1)
        got = await outcome(sh(client, args));
      t.is(got.code, 0, `${testCase}: ${got.output}`);
    }
  });

  test(`h2spec - passes but for known-failing.txt: ${name}`, async (t) => {
    t.timeout(120_000, 'it waits for two seconds where nothing comes');
    const { programs, folder } = t.context;
    const [host = '', port = ''] = portOf(t, door);
    const report = join(folder, `h2spec-${port}.xml`);
    const args = ['--host', host, '--port', port, '--path', '/petstore.binpb', '--junit-report', report];
    await outcome(sh(join(programs, 'h2spec'), args));
    const cases = (await readFile(report, 'latin1')).split('<testcase ').slice(1);
    const failed = cases.filter((text) => /<(failure|error|skipped)>/.test(text));
    const names = failed.map((text) => (/package="(.*?)" classname="(.*?)"/.exec(text) ?? []).slice(1).join(' '));
    const chance = await knownFailing('h2spec, by chance');
    t.log(`${cases.length - failed.length} of ${cases.length} pass`);
    const found = names.filter((one) => !chance.includes(one)).toSorted();
    t.deepEqual(found, (await knownFailing(`h2spec, ${name}`)).toSorted());
  });
}

/** Whether the client had the answer before it noticed that it had cancelled the call: that is not the server's. */
function wasAnswered(testCase: string, output: string): boolean {
  return testCase === 'cancel_after_begin' && output.includes('CloseAndRecv() got error code 0, want 1');
}

function portOf({ context }: ExecutionContext<Context>, door: Door): string[] {
  return context.addresses[door].split(':');
}

async function outcome(running: Promise<{ readonly stdout: string; readonly stderr: string }>) {
  const { stdout, stderr, code = 0 } = await running.catch((error) => error);
  return { output: `${stdout}\n${stderr}`, code };
}
