/**
 * The floor: what a request costs of which nothing can be left out. The same Envoy that transcodes and routes, before
 * the same Node with grpc-js that answers from a map. What the service costs beyond it is the service's own.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/config.ts';
import { Child } from '../../src/launcher/child.ts';
import { findEnvoy } from '../../src/launcher/envoy.ts';
import { ROOT } from '../../src/launcher/paths.ts';
import { fillIn } from '../../src/launcher/template.ts';
import { LogFile } from '../../src/logging/log-file.ts';
import { freePorts } from '../../test/support/ports.ts';
import { until } from '../../test/support/until.ts';
import { withLogs } from '../logs.ts';
import { type BenchStack, pidOf } from '../stacks.ts';

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url));
const TEMPLATE = new URL('envoy.yaml', import.meta.url);
const START_MS = 30_000;

/** Starts Envoy and server with so many pets. Logs and configuration are in `folder`. */
export async function startFloor(pets: number, folder: string): Promise<BenchStack> {
  const logFiles = [join(folder, 'server.log'), join(folder, 'envoy.log')] as const;
  const explain = async (error: unknown): Promise<never> => {
    throw await withLogs(error, logFiles);
  };
  const server = new Child('the server of the floor', process.execPath, [SERVER, String(pets)], {
    ipc: true,
    log: new LogFile(logFiles[0]),
  });
  const children = [server];
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop(0)));
  };
  try {
    const { port: serverPort } = (await server.message()) as { readonly port: number };
    const [port = 0] = await freePorts(1);
    const envoy = await startEnvoy(port, serverPort, folder, logFiles[1]);
    children.push(envoy);
    const url = `http://127.0.0.1:${port}`;
    await Promise.race([until(() => isAnswered(url), 'an answer of the floor', START_MS), envoy.failure()]);
    const ended = Promise.race(children.map((child) => child.failure())).catch(explain);
    ended.catch(() => undefined); // whoever measures looks at it
    const counted = { server: { pids: [pidOf(server)] }, envoy: { pids: [pidOf(envoy)] } };
    return { url, key: 'none', counted, ended, stop };
  } catch (error) {
    await stop();
    return explain(error);
  }
}

async function startEnvoy(port: number, serverPort: number, folder: string, logFile: string): Promise<Child> {
  const file = join(folder, 'envoy.yaml');
  await writeFile(file, fillIn(await readFile(TEMPLATE, 'utf8'), { PORT: port, SERVER_PORT: serverPort, ROOT }));
  const args = ['--config-path', file, '--disable-hot-restart', '--log-level', 'warning'];
  return new Child('the Envoy of the floor', findEnvoy(readConfig()), args, {
    endsWithParent: true,
    log: new LogFile(logFile),
  });
}

async function isAnswered(url: string): Promise<boolean> {
  return fetch(`${url}/pets/1`).then(
    (response) => response.ok,
    () => false,
  );
}
