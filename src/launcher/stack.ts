/**
 * The whole service on one machine: the gRPC servers, and Envoy in front of them. Starts them, keeps them running,
 * stops them. A component that fails too often ends the service.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { formatAddress, toReachableHost } from '../config/addresses.ts';
import { type Config, grpcPorts } from '../config.ts';
import { diskFull, isDiskFull, makePrivate } from '../files/private-folder.ts';
import type { Child } from './child.ts';
import { CLOSE_MS, DRAIN_MS } from './component.ts';
import { type DataLock, lockDataFolder } from './data-lock.ts';
import { Envoy, findEnvoy } from './envoy.ts';
import { checkAdminSocket } from './envoy-admin.ts';
import { Instances } from './instances.ts';
import { type LogGroup, rotateLogs } from './log-rotation.ts';
import { accessLog, auditLog, logDir, SERVER } from './paths.ts';
import { checkPorts, waitForPorts } from './ports.ts';
import { rollingRestart } from './rolling-restart.ts';
import { watchSecrets } from './secrets.ts';
import { checkNoStandaloneSettings } from './servers.ts';
import { rejectOnAbort, startEnvoy } from './startup.ts';
import { supervise } from './supervisor.ts';

/** How long the service may take to become healthy. */
const READY_MS = 30_000;
const POLL_MS = 20;

export interface Stack {
  /** The servers' current processes, in the order of their ports. */
  readonly servers: readonly [Child, ...Child[]];
  readonly envoy: Child;
  /** All current processes. */
  readonly children: readonly Child[];
  /** Rejects when a component has failed too often; everything is stopped by then. Resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Replaces one server after the other without losing a request. Needs at least two servers. */
  restart(): Promise<void>;
  /** Waits for open requests, then stops everything. */
  stop(): Promise<void>;
}

interface StackOptions {
  /** Another program than the server, for a benchmark. */
  readonly program?: string | undefined;
  /** Aborts the start, which then rejects with Interrupted. */
  readonly interrupt?: AbortSignal;
  /** Reports events of servers and Envoy, as lines for people. */
  readonly report?: (line: string) => void;
}

/** The URL of the public port, for callers on this machine. */
export function publicUrl({ host, port, tls }: Config): string {
  return `${tls === undefined ? 'http' : 'https'}://${formatAddress(toReachableHost(host), port)}`;
}

/**
 * Starts servers and Envoy and resolves when Envoy sends calls to all servers. `env` is added to the environment of the
 * servers. If it rejects, nothing is left running.
 */
export async function startStack(
  given: Config,
  env: Readonly<Record<string, string>> = {},
  { program = SERVER, interrupt = new AbortController().signal, report = () => undefined }: StackOptions = {},
): Promise<Stack> {
  const config = { ...given, edgeSecret: given.edgeSecret ?? randomBytes(32).toString('base64url') };
  checkNoStandaloneSettings(config);
  const envoyBinary = findEnvoy(config);
  checkAdminSocket(config);
  let lock: DataLock | undefined;
  let instances: Instances | undefined;
  let envoy: Envoy | undefined;
  const shutdown = new AbortController();
  try {
    for (const folder of [config.dataDir, logDir(config)]) await makePrivate(folder);
    lock = lockDataFolder(config.dataDir);
    await waitForPorts(() => checkPorts(config), lock.isStale ? DRAIN_MS + CLOSE_MS : 0);
    instances = new Instances({ config, env, file: program }, report);
    const serving = instances.start();
    serving.catch(() => undefined); // handled below, unless Envoy can't be prepared
    envoy = await Envoy.prepare(config, envoyBinary); // while the servers load
    await Promise.race([serving, rejectOnAbort(interrupt)]);
    const started = startEnvoy(envoy);
    const failures = [started.then((child) => child.failure()), ...instances.children.map((child) => child.failure())];
    await Promise.race([started, ...failures, rejectOnAbort(interrupt)]);
    await Promise.race([waitUntilHealthy(envoy, config, shutdown.signal), ...failures, rejectOnAbort(interrupt)]);
    return keepRunning(instances, envoy, lock, { config, report });
  } catch (error) {
    await Promise.all([instances?.stop(CLOSE_MS), envoy?.stop(CLOSE_MS)]);
    lock?.release();
    throw isDiskFull(error) ? diskFull(config.dataDir, error) : error;
  } finally {
    shutdown.abort();
  }
}

/** Asks Envoy's admin interface, as the public port may be closed to this machine. */
async function waitUntilHealthy(envoy: Envoy, config: Config, shutdown: AbortSignal): Promise<void> {
  const giveUpAtMs = performance.now() + READY_MS;
  const isHealthy = async (port: number) => (await envoy.host(port))?.isHealthy;
  while (!shutdown.aborted && !(await Promise.all(grpcPorts(config).map(isHealthy))).every(Boolean)) {
    if (performance.now() > giveUpAtMs) throw new Error(`the service did not become healthy in ${READY_MS / 1000} s`);
    await delay(POLL_MS);
  }
}

function keepRunning(
  instances: Instances,
  envoy: Envoy,
  lock: DataLock,
  { config, report }: { readonly config: Config; readonly report: (line: string) => void },
): Stack {
  const { shutdown } = instances;
  const watched = Promise.all([
    instances.supervise(),
    supervise(envoy, { shutdown, report, isRedundant: () => false }),
  ]);
  const ended = watched
    .then(() => undefined)
    .catch(async (error: unknown) => {
      await Promise.all([instances.stop(DRAIN_MS + CLOSE_MS), envoy.stop(DRAIN_MS + CLOSE_MS)]);
      throw error;
    })
    .finally(() => lock.release());
  ended.catch(() => undefined); // no unhandled rejection before the caller waits for it
  void watchSecrets(config, { shutdown, report });
  void rotateLogs(logGroups(instances, envoy, config), config, shutdown);
  return {
    get servers() {
      return instances.children;
    },
    get envoy() {
      return envoy.child;
    },
    get children() {
      return [envoy.child, ...instances.children];
    },
    ended,
    restart: () => rollingRestart(instances, envoy, report),
    async stop() {
      instances.stopSupervision();
      await envoy.drain();
      await envoy.stop(CLOSE_MS);
      await instances.stop(DRAIN_MS + CLOSE_MS);
      await ended.catch(() => undefined);
    },
  };
}

function logGroups({ all }: Instances, envoy: Envoy, config: Config): LogGroup[] {
  const envoyLogs = { files: [envoy.log.path, accessLog(config)], reopen: () => envoy.reopenLogs() };
  const reopenAll = async () => {
    for (const instance of all) await instance.reopenLogs();
  };
  const serverLogs = all.map((instance) => ({ files: [instance.log.path], reopen: () => instance.reopenLogs() }));
  return [...serverLogs, { files: [auditLog(config)], reopen: reopenAll }, envoyLogs];
}
