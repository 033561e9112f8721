/**
 * A standalone Envoy, whose servers are started elsewhere and come and go. Starts it, keeps it running, stops it. It
 * starts even if no server can be reached: callers get a 503 until then.
 */
import { type Config, ConfigError } from '../config.ts';
import { diskFull, isDiskFull, makePrivate } from '../files/private-folder.ts';
import { limitCalls } from './call-limit.ts';
import type { Child } from './child.ts';
import { CLOSE_MS, DRAIN_MS } from './component.ts';
import { type DataLock, lockDataFolder } from './data-lock.ts';
import { Envoy, findEnvoy } from './envoy.ts';
import { checkAdminSocket } from './envoy-admin.ts';
import { rotateLogs } from './log-rotation.ts';
import { accessLog, logDir } from './paths.ts';
import { checkEdgePorts, waitForPorts } from './ports.ts';
import { watchSecrets } from './secrets.ts';
import { rejectOnAbort, startEnvoy } from './startup.ts';
import { supervise } from './supervisor.ts';

export interface Edge {
  readonly children: readonly Child[];
  /** Rejects when Envoy has failed too often. Resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Closes the public port, waits for open requests, then stops Envoy. */
  stop(): Promise<void>;
}

interface EdgeOptions {
  /** Aborts the start, which then rejects with Interrupted. */
  readonly interrupt: AbortSignal;
  /** Reports events of Envoy, as lines for people. */
  readonly report: (line: string) => void;
}

/** Resolves when the public port is open. If it rejects, nothing is left running. */
export async function startEdge(config: Config, { interrupt, report }: EdgeOptions): Promise<Edge> {
  checkSingleInstance(config);
  checkSecret(config);
  const binary = findEnvoy(config);
  checkAdminSocket(config);
  let lock: DataLock | undefined;
  let envoy: Envoy | undefined;
  try {
    for (const folder of [config.dataDir, logDir(config)]) await makePrivate(folder);
    lock = lockDataFolder(config.dataDir);
    await waitForPorts(() => checkEdgePorts(config), lock.isStale ? DRAIN_MS + CLOSE_MS : 0);
    envoy = await Envoy.prepare(config, binary);
    await Promise.race([startEnvoy(envoy), rejectOnAbort(interrupt)]);
    return keepRunning(envoy, lock, { config, report });
  } catch (error) {
    await envoy?.stop(CLOSE_MS);
    lock?.release();
    throw isDiskFull(error) ? diskFull(config.dataDir, error) : error;
  }
}

function checkSingleInstance({ instances }: Config): void {
  if (instances === 1) return;
  const advice = 'unset it, and name the servers in SERVERS; or use npm start, which starts both';
  throw new ConfigError(`INSTANCES=${instances} is not for npm run edge, which starts no server: ${advice}`);
}

function checkSecret({ edgeSecret, internalTls }: Config): void {
  if (edgeSecret !== undefined || internalTls !== undefined) return;
  const why = 'its servers would take all callers for one address';
  throw new ConfigError(`npm run edge needs EDGE_SECRET, the same as its servers', or INTERNAL_TLS_CA: ${why}`);
}

function keepRunning(
  envoy: Envoy,
  lock: DataLock,
  { config, report }: { readonly config: Config; readonly report: (line: string) => void },
): Edge {
  const stopping = new AbortController();
  const shutdown = stopping.signal;
  const ended = supervise(envoy, { shutdown, report, isRedundant: () => false })
    .finally(() => envoy.stop(CLOSE_MS))
    .finally(() => lock.release());
  ended.catch(() => stopping.abort());
  if (config.servers !== undefined) void limitCalls(envoy, shutdown);
  void watchSecrets(config, { shutdown, report });
  if (config.logs === 'files') {
    void rotateLogs(
      [{ files: [envoy.log.path, accessLog(config)], reopen: () => envoy.reopenLogs() }],
      config,
      shutdown,
    );
  }
  return {
    get children() {
      return [envoy.child];
    },
    ended,
    async stop() {
      stopping.abort();
      await envoy.drain();
      await envoy.stop(CLOSE_MS);
      await ended.catch(() => undefined);
    },
  };
}
