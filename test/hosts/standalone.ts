/** Standalone servers and edges, which find each other on this machine. After each test they are killed. */
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { type Settings, TestProcess, UNLIMITED } from '../support/service/process.ts';
import { fresh, type SharedBy, type TestOf } from '../support/service/sharing.ts';

export const EDGE_SECRET = 'the-secret-of-this-test';

export const test = fresh(noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  const [edge = 0, server = 0, admin = 0, metrics = 0] = await freePorts(4);
  return { certificates, folder: temporaryFolder(t), ports: { edge, server, admin, metrics } };
});
export type Context = SharedBy<typeof test>;
export type Test = TestOf<typeof test>;

export function run(t: Test, program: 'edge' | 'server', more: Settings = {}): TestProcess {
  const { folder, ports } = t.context;
  const started = new TestProcess(program === 'edge' ? 'src/platform/launcher/edge-main.ts' : 'src/main.ts', {
    ...UNLIMITED,
    EDGE_SECRET,
    DATA_DIR: `${folder}/${program}`,
    PORT: String(ports.edge),
    GRPC_PORT: String(ports.server),
    ENVOY_ADMIN_PORT: String(ports.admin),
    ...more,
  });
  t.teardown(() => started.end('SIGKILL'));
  return started;
}

/** The status of a GET through the edge; why there is none without a response. */
export async function get(t: Test, path: string): Promise<unknown> {
  const { folder, ports } = t.context;
  const key = await readFile(demoKeyFile(`${folder}/server`), 'utf8').catch(() => ''); // before the first start
  const headers = { authorization: `Bearer ${key.trim()}`, connection: 'close' };
  const response = fetch(`http://127.0.0.1:${ports.edge}${path}`, { headers });
  return response.then(({ status }) => status).catch(({ cause }) => String(cause));
}
