/**
 * The suites of the field: connectconformance, grpc-go's interoperability tests, h2spec. They call the services of
 * connectconformance and of grpc-go's tests, served by our own platform in a copy of the repository. What fails stands
 * in known-failing.txt with its reason; a case that begins to fail, or to pass, fails here.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ROOT } from '../../src/launcher/paths.ts';
import { findProgram } from '../support/find-program.ts';
import { createDataDir } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { copyWithService } from './copy.ts';

const SUITE = 'connectrpc.com/conformance';
const VERSION = 'v1.0.7';
const PROGRAMS = [`${SUITE}/cmd/connectconformance@${VERSION}`];
/** Kept, with Go's own caches: a later run builds nothing. */
const BIN = join(ROOT, 'node_modules/.cache/conformance');
const KNOWN_FAILING = join(ROOT, 'test/conformance/known-failing.txt');

type Door = 'publicAddress' | 'grpcAddress';

interface Context {
  readonly folder: string;
  readonly remove: () => Promise<void>;
  readonly service: ChildProcess;
  readonly addresses: Readonly<Record<Door, string>>;
}

const run = promisify(execFile);
const missing = findProgram(['go']) === undefined ? 'NO GO FOUND, so the suites of the field are not run' : undefined;
const test = testUnless<Context>(missing);

test.before(async (t) => {
  t.timeout(600_000, 'programs are fetched and compiled');
  const go = { env: { ...process.env, GOBIN: BIN } };
  await mkdir(BIN, { recursive: true });
  for (const program of PROGRAMS) await run('nice', ['-n', '10', 'go', 'install', program], go);
  const { stdout } = await run('go', ['mod', 'download', '-json', `${SUITE}@${VERSION}`], go);
  const { path: folder, remove } = await createDataDir();
  copyWithService(folder, join(JSON.parse(stdout).Dir, 'proto'));
  const service = spawn(process.execPath, ['test/conformance/serve.ts'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(service.stdout), 'line');
  t.context = { folder, remove, service, addresses: JSON.parse(line) };
});
test.after.always(async ({ context: { service, remove } }) => {
  service.stdin?.end();
  if (service.exitCode === null) await once(service, 'exit');
  await remove();
});

const HTTP_2 = ['HTTP_VERSION_2'];
const ANY_HTTP = ['HTTP_VERSION_1', ...HTTP_2];
const UNARY = ['STREAM_TYPE_UNARY'];
const STREAMS = [...UNARY, 'STREAM_TYPE_SERVER_STREAM'];
const IDENTITY = ['COMPRESSION_IDENTITY'];
const GZIP = [...IDENTITY, 'COMPRESSION_GZIP'];

/** By the title of the section in known-failing.txt. */
const RUNS: Readonly<
  Record<string, readonly [Door, string, versions: string[], streams: string[], compressions: string[]]>
> = {
  'gRPC, private port': ['grpcAddress', 'PROTOCOL_GRPC', HTTP_2, STREAMS, GZIP],
  'gRPC, public port': ['publicAddress', 'PROTOCOL_GRPC', HTTP_2, STREAMS, GZIP],
  'gRPC-Web, public port': ['publicAddress', 'PROTOCOL_GRPC_WEB', ANY_HTTP, STREAMS, GZIP],
  'Connect, public port': ['publicAddress', 'PROTOCOL_CONNECT', ANY_HTTP, UNARY, IDENTITY],
};

/** The patterns of a section. */
async function knownFailing(section: string): Promise<string[]> {
  const text = await readFile(KNOWN_FAILING, 'utf8');
  const lines = text.split(`## ${section}\n`)[1]?.split('\n## ')[0]?.split('\n') ?? [];
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

for (const [section, [door, protocol, versions, streamTypes, compressions]] of Object.entries(RUNS)) {
  test.serial(`connectconformance - passes but for known-failing.txt: ${section}`, async (t) => {
    const { folder, addresses } = t.context;
    const features = {
      versions,
      protocols: [protocol],
      codecs: ['CODEC_PROTO'],
      compressions,
      streamTypes,
      supportsH2c: true,
      supportsTls: false,
      supportsConnectGet: false,
      supportsMessageReceiveLimit: false,
    };
    const config = join(folder, 'features.yaml'); // JSON is YAML
    await writeFile(config, JSON.stringify({ features }));
    const failing = (await knownFailing(section)).flatMap((pattern) => ['--known-failing', pattern]);
    const [host = '', port = ''] = addresses[door].split(':');
    const underTest = [process.execPath, join(ROOT, 'test/conformance/under-test.ts'), host, port];
    const suite = run(join(BIN, 'connectconformance'), [
      '--mode',
      'server',
      '--conf',
      config,
      ...failing,
      '--',
      ...underTest,
    ]);
    const { stdout, stderr, code } = await suite.then(
      ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
      (error) => error,
    );
    t.log(/Total cases.*/s.exec(stdout)?.[0].trim().replaceAll('\n', ', '));
    t.is(code, 0, `${stdout}\n${stderr}`);
  });
}
