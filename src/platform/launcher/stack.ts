/**
 * Starts, keeps running and stops Envoy and the gRPC servers behind it: the whole service on one machine, or an edge,
 * which is Envoy alone and starts even if no server can be reached. A component that fails too often ends the service.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Config } from '../config/config.ts';
import { CLOSE_MS, DRAIN_MS } from '../config/times.ts';
import { diskFull, isDiskFull, makePrivate } from '../files/private-folder.ts';
import { type DataLock, lockDataFolder } from '../process/data-lock.ts';
import { checkPorts } from '../process/ports.ts';
import { type Child, ChildExited } from './child.ts';
import { Envoy, findEnvoy } from './envoy.ts';
import { Instance } from './instance.ts';
import { rotateLogs } from './log-rotation.ts';
import { accessLog, auditLog, logDir, SERVER } from './paths.ts';
import { repeat, waitFor } from './repeat.ts';
import { rollingRestart, waitUntilAllHealthy } from './rolling-restart.ts';
import { watchSecrets } from './secrets.ts';
import { supervise } from './supervisor.ts';

const ENVOY_READY_MS = 12_000;
const CALL_LIMIT_MS = 5_000;

export interface Stack {
  /** The servers' current processes, in the order of their ports. */
  readonly servers: readonly Child[];
  readonly envoy: Child;
  /** Rejects when a component has failed too often; everything is stopped by then. Resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Replaces one server after the other without losing a request. Needs at least two servers. */
  restart(): Promise<void>;
  /** Closes the public port, waits for open requests, then stops everything. */
  stop(): Promise<void>;
}

interface StackOptions {
  readonly isEdge?: boolean;
  /** Another program than the server, for a benchmark. */
  readonly program?: string | undefined;
  /** Aborts the start, which then rejects. */
  readonly interrupt?: AbortSignal;
  readonly report?: (line: string) => void;
}

/** Resolves when Envoy sends calls to all servers, whose environment has `env` too. A failed start leaves nothing. */
export async function startStack(
  given: Config,
  env: Readonly<Record<string, string>> = {},
  { isEdge = false, program = SERVER, interrupt, report = () => undefined }: StackOptions = {},
): Promise<Stack> {
  const config = { ...given, edgeSecret: given.edgeSecret ?? randomBytes(32).toString('base64url') };
  const binary = findEnvoy(config);
  const stopping = new AbortController();
  const interrupted = rejectOnAbort(interrupt);
  interrupted.catch(() => undefined); // handled below, where the start waits
  let lock: DataLock | undefined;
  let servers: readonly Instance[] = [];
  let envoy: Envoy | undefined;
  try {
    for (const folder of [config.dataDir, logDir(config)]) await makePrivate(folder);
    lock = lockDataFolder(config.dataDir);
    const check = () => checkPorts(config, !isEdge).then(() => true);
    if (lock.isStale) await waitFor(() => check().catch(() => false), DRAIN_MS + CLOSE_MS, interrupt);
    await check();
    const count = isEdge ? 0 : config.instances;
    servers = Array.from({ length: count }, (_, index) => new Instance(config, index, program, env));
    const serving = startServers(servers, report);
    serving.catch(() => undefined); // handled below, unless Envoy can't be prepared
    envoy = await Envoy.prepare(config, binary, count); // while the servers load
    await Promise.race([serving, interrupted]);
    const started = startEnvoy(envoy);
    const failures = [started.then((child) => child.failure()), ...servers.map(({ child }) => child.failure())];
    await Promise.race([started, ...failures, interrupted]);
    await Promise.race([waitUntilAllHealthy(servers, envoy, stopping.signal), ...failures, interrupted]);
    return keepRunning(servers, envoy, { config, report, lock, stopping });
  } catch (error) {
    stopping.abort();
    await Promise.all([...servers, envoy].map((component) => component?.stop(CLOSE_MS)));
    lock?.release();
    throw isDiskFull(error) ? diskFull(config.dataDir, error) : error;
  }
}

async function rejectOnAbort(signal = new AbortController().signal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

/** The first server starts alone: it creates the tables and the keys. */
async function startServers([first, ...others]: readonly Instance[], report: (line: string) => void): Promise<void> {
  await first?.start(undefined, report);
  await Promise.all(others.map((server) => server.start()));
}

/** Resolves with the process when it is ready. Starts Envoy a second time if it hangs in its initialization. */
async function startEnvoy(envoy: Envoy): Promise<Child> {
  await envoy.start(ENVOY_READY_MS).catch((error: unknown) => {
    if (error instanceof ChildExited) throw error;
    return envoy.start(ENVOY_READY_MS);
  });
  return envoy.child;
}

interface Running {
  readonly config: Config;
  readonly report: (line: string) => void;
  readonly lock: DataLock;
  readonly stopping: AbortController;
}

function keepRunning(servers: readonly Instance[], envoy: Envoy, { config, report, lock, stopping }: Running): Stack {
  const shutdown = stopping.signal;
  const stopServers = () => Promise.all(servers.map((server) => server.stop(DRAIN_MS + CLOSE_MS)));
  const isOneServing = () => servers.some(({ isServing }) => isServing);
  const ended = Promise.all([
    ...servers.map((server) => supervise(server, { shutdown, report, isRedundant: isOneServing })),
    supervise(envoy, { shutdown, report, isRedundant: () => false }),
  ])
    .then(() => undefined)
    .catch(async (error: unknown) => {
      stopping.abort();
      await Promise.all([stopServers(), envoy.stop(DRAIN_MS + CLOSE_MS)]);
      throw error;
    })
    .finally(() => lock.release());
  ended.catch(() => undefined); // no unhandled rejection before the caller waits for it
  void watchSecrets(config, { shutdown, report });
  if (config.logs === 'files') {
    const writers = [...servers, envoy];
    const logs = [...writers.map(({ log }) => log.path), auditLog(config), accessLog(config)];
    const reopen = async () => void (await Promise.all(writers.map((writer) => writer.reopenLogs())));
    void rotateLogs(logs, reopen, config, shutdown);
  }
  if (config.servers !== undefined) {
    void repeat(CALL_LIMIT_MS, shutdown, () => envoy.adjustCallLimit().catch(() => undefined)); // busy or restarting
  }
  return {
    get servers() {
      return servers.map(({ child }) => child);
    },
    get envoy() {
      return envoy.child;
    },
    ended,
    restart: () => rollingRestart(servers, envoy, { shutdown, report }),
    async stop() {
      stopping.abort();
      for (const server of servers) server.endEventStreams();
      await envoy.drain();
      await envoy.stop(CLOSE_MS);
      await stopServers();
      await ended.catch(() => undefined);
    },
  };
}
