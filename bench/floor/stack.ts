/**
 * The floor: the least that a request can cost. The same Envoy, which only transcodes and routes, and the same Node
 * with grpc-js, which only reads a map. What the service costs beyond it is the service's own.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/platform/config/config.ts';
import { Child } from '../../src/platform/launcher/child.ts';
import { envoyThreads, findEnvoy } from '../../src/platform/launcher/envoy.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { LogFile } from '../../src/platform/observe/logging/log-file.ts';
import { freePorts, type Scope } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import { type BenchStack, failureOf, pidOf } from '../stacks.ts';

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url));
const TEMPLATE = new URL('envoy.yaml', import.meta.url);

/**
 * Starts a server with so many pets, and an Envoy with as many threads as before `instances` servers. Logs and
 * configuration are in a folder in `parent`.
 */
export async function startFloor(t: Scope, pets: number, instances: number, parent: string): Promise<BenchStack> {
  const folder = await mkdtemp(join(parent, 'floor-'));
  const log = (name: string) => new LogFile(join(folder, `${name}.log`));
  const serverArgs = [SERVER, String(pets)];
  const server = new Child("the floor's server", process.execPath, serverArgs, { ipc: true, log: log('server') });
  t.teardown(() => server.stop(0));
  const { port: serverPort } = (await server.nextMessage()) as { readonly port: number };
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'envoy.yaml');
  const values: Readonly<Record<string, string | number>> = { PORT: port, SERVER_PORT: serverPort, ROOT };
  const template = await readFile(TEMPLATE, 'utf8');
  await writeFile(
    file,
    template.replace(/\$\{(\w+)\}/g, (_, name) => String(values[name])),
  );
  const fixed = ['--disable-hot-restart', '--log-level', 'warning'];
  const envoyArgs = ['--config-path', file, '--concurrency', String(envoyThreads(instances)), ...fixed];
  const envoy = new Child("the floor's Envoy", findEnvoy(readConfig()), envoyArgs, { log: log('envoy') });
  t.teardown(() => envoy.stop(0));
  const url = `http://127.0.0.1:${port}`;
  const failure = failureOf([server, envoy]);
  const isReady = () =>
    fetch(`${url}/pets/1`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await Promise.race([until(isReady, 'a response of the floor'), failure]);
  const counted = { server: { pids: [pidOf(server)] }, envoy: { pids: [pidOf(envoy)] } };
  return { url, key: 'none', counted, failure };
}
