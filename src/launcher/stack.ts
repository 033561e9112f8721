/**
 * The whole service on one machine: the gRPC server, and Envoy in front of it. Starts both, says when they are
 * ready, stops both; if one dies the other is stopped.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError } from '../config.ts';
import { Child, ChildEnded } from './child.ts';
import { checkPortsAreFree } from './ports.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const PINNED_ENVOY = join(ROOT, '.envoy/envoy/_bin/envoy');

/** How long the service may take until it answers. */
const READY_MS = 30_000;
const POLL_MS = 50;
const HEALTHZ_MS = 1_000;
/** How long open requests may go on when the service stops; as long as the server's own drain. */
const DRAIN_MS = 10_000;
/** What a process may need beyond its drain to close its files. */
const CLOSE_MS = 2_000;

export interface Stack {
  readonly server: Child;
  readonly envoy: Child;
  /** Rejects when a process ends by itself; the other is stopped by then. Resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Lets open requests finish, then ends both. */
  stop(): Promise<void>;
}

export function logDir(config: Config): string {
  return join(config.dataDir, 'logs');
}

/** The public address, as somebody on this machine reaches it. */
export function publicUrl({ host, port }: Config): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${isIPv6(reachable) ? `[${reachable}]` : reachable}:${port}`;
}

/** The start was interrupted. What had been started by then has been stopped. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}

const SERVER = join(ROOT, 'src/main.ts');

/**
 * Starts server and Envoy and resolves when `GET /healthz` is 200. `env` goes to the server, beside the settings.
 * `program` is the server's; a benchmark measures another. Rejects with Interrupted when `interrupt` is aborted;
 * whatever it rejects with, nothing goes on running.
 */
export async function startStack(
  config: Config,
  env: Readonly<Record<string, string>> = {},
  program = SERVER,
  interrupt = new AbortController().signal,
): Promise<Stack> {
  const envoyBinary = findEnvoy(config);
  await checkPortsAreFree(config);
  await mkdir(logDir(config), { recursive: true });
  const children: Child[] = [];
  const over = new AbortController();
  try {
    const server = startServer(config, env, program);
    children.push(server);
    await Promise.race([serving(server), aborted(interrupt)]);
    const envoy = await startEnvoy(config, envoyBinary);
    children.push(envoy);
    await Promise.race([untilHealthy(config, over.signal), ...children.map(failure), aborted(interrupt)]);
    return supervise(config, server, envoy);
  } catch (error) {
    await Promise.all(children.map((child) => child.stop(CLOSE_MS)));
    throw error;
  } finally {
    over.abort();
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Interrupted();
}

function findEnvoy({ envoy }: Config): string {
  const binary = envoy ?? PINNED_ENVOY;
  if (!existsSync(binary)) throw new ConfigError(`there is no Envoy at ${binary}: run "npm start", or set ENVOY`);
  return binary;
}

function startServer(config: Config, env: Readonly<Record<string, string>>, program: string): Child {
  return new Child('the server', process.execPath, [program], {
    env: {
      ...env,
      GRPC_PORT: String(config.grpcPort),
      DATA_DIR: config.dataDir,
      LOG_LEVEL: config.logLevel,
    },
    ipc: true,
    logFile: join(logDir(config), 'server.log'),
  });
}

async function startEnvoy(config: Config, binary: string): Promise<Child> {
  const file = join(config.dataDir, 'envoy.yaml');
  await writeFile(file, fillIn(await readFile(join(ROOT, 'envoy/envoy.yaml'), 'utf8'), config));
  const args = ['--config-path', file, '--use-dynamic-base-id', '--log-level', 'warning'];
  return new Child('Envoy', binary, args, { logFile: join(logDir(config), 'envoy.log') });
}

/** Fills the `${NAME}` places of envoy.yaml. Texts stand in double quotes there. */
function fillIn(template: string, config: Config): string {
  const values: Readonly<Record<string, string | number>> = {
    HOST: config.host,
    PORT: config.port,
    GRPC_PORT: config.grpcPort,
    ENVOY_ADMIN_PORT: config.envoyAdminPort,
    ROOT,
    LOG_DIR: logDir(config),
  };
  return template.replace(/\$\{([A-Z_]+)\}/g, (place, name: string) => {
    const value = values[name];
    return value === undefined ? place : String(value).replace(/["\\]/g, '\\$&');
  });
}

async function untilHealthy(config: Config, over: AbortSignal): Promise<void> {
  const giveUpAtMs = performance.now() + READY_MS;
  while (!over.aborted && !(await isHealthy(publicUrl(config)))) {
    if (performance.now() > giveUpAtMs) throw new Error(`the service did not become healthy in ${READY_MS / 1000} s`);
    await delay(POLL_MS);
  }
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(HEALTHZ_MS) })).ok;
  } catch {
    return false; // not listening yet
  }
}

async function failure(child: Child): Promise<never> {
  throw new ChildEnded(child, await child.ended);
}

/** Resolves when the server says that it serves. One that can't start says why in the last line of its log. */
async function serving(server: Child): Promise<void> {
  try {
    await server.message();
  } catch (error) {
    const lines = (await readFile(server.logFile, 'utf8')).trimEnd().split('\n');
    const [, reason] = /^petstore: (.+)$/.exec(lines.at(-1) ?? '') ?? [];
    throw reason === undefined ? error : new ConfigError(reason);
  }
}

function supervise(config: Config, server: Child, envoy: Child): Stack {
  let isStopping = false;
  const stopBoth = async () => {
    isStopping = true;
    await drain(config);
    await envoy.stop(CLOSE_MS);
    await server.stop(DRAIN_MS + CLOSE_MS);
  };
  const watch = async (child: Child, other: Child) => {
    const how = await child.ended;
    if (isStopping) return;
    isStopping = true;
    await other.stop(DRAIN_MS + CLOSE_MS);
    throw new ChildEnded(child, how);
  };
  const ended = Promise.all([watch(server, envoy), watch(envoy, server)]).then(() => undefined);
  ended.catch(() => undefined); // nobody may be waiting for it yet
  return { server, envoy, ended, stop: stopBoth };
}

/** Closes the public port and waits until the requests that are open have been answered. */
async function drain({ envoyAdminPort }: Config): Promise<void> {
  const admin = `http://127.0.0.1:${envoyAdminPort}`;
  const signal = AbortSignal.timeout(DRAIN_MS);
  try {
    await fetch(`${admin}/drain_listeners`, { method: 'POST', signal });
    for (;;) {
      const stats = await (await fetch(`${admin}/stats?filter=^http.public.downstream_rq_active$`, { signal })).text();
      if (stats.trim().endsWith(': 0')) return;
      await delay(POLL_MS, undefined, { signal });
    }
  } catch {
    // Too late, or Envoy has gone: nothing is open any more.
  }
}
