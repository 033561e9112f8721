/** Envoy in front of the servers: its process, and its view of the servers. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CLUSTERS } from '../../identity.ts';
import { type Config, ConfigError, type EdgeConfig } from '../config/config.ts';
import { MAX_CALLS_PER_SERVER } from '../config/constants.ts';
import { DRAIN_MS, LAST_SPANS_MS } from '../config/times.ts';
import { LogFile } from '../observe/logging/log-file.ts';
import { Child } from './child.ts';
import { Component } from './component.ts';
import { adminSocket, callAdmin } from './envoy-admin.ts';
import { accessLog, logDir, ROOT } from './paths.ts';
import { secretFile, writeSecrets } from './secrets.ts';

const PINNED_ENVOY = join(ROOT, '.envoy/envoy/_bin/envoy');
const POLL_MS = 20;
/** The variables that Envoy inherits. Others may contain passwords and the operator's key. */
const INHERITED_VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH'];

const JSON_LOG_FORMAT = '{"time":"%Y-%m-%dT%T.%e%z","level":"%l","logger":"%n","msg":"%j"}';

const CONFIG_HEAD = '# Written at each start, from envoy/config. The comments are there.\n';

/** The prefix of Envoy's runtime keys for the limits of calls. */
const CIRCUIT_BREAKERS = `circuit_breakers.${CLUSTERS.calls}.default`;

/** The requests that callers have open, the bytes from and to them, and the calls of those with keys at the servers. */
const CALLS_AT_SERVERS = [CLUSTERS.calls, CLUSTERS.feeds, CLUSTERS.anonymous].map((name) => `cluster.${name}.upstream`);
const DRAIN_STATS = [
  ...['rq_active', 'cx_rx_bytes_total', 'cx_tx_bytes_total'].map((name) => `http.public.downstream_${name}`),
  ...CALLS_AT_SERVERS.map((name) => `${name}_rq_active`),
].join('|');
/** For how long a stop waits for callers of whom no byte comes or goes, while no server is at work for them. */
const MAX_STALLED_MS = 2_000;

export function findEnvoy({ envoy }: Config): string {
  const binary = envoy ?? PINNED_ENVOY;
  if (!existsSync(binary)) throw new ConfigError(`there is no Envoy at ${binary}: run "npm start", or set ENVOY`);
  return binary;
}

/**
 * How many threads Envoy has for so many servers. One thread and its server would work in turns: each would wait while
 * the other has all open calls. With three or more, a server would get fewer calls at a time, which cost it more. A
 * standalone edge has a thread for each core: TLS and refusals need no server.
 */
export function envoyThreads(servers: number): number {
  return Math.min(2 * servers, availableParallelism());
}

/** Writes the configuration (envoy/config), as YAML that an operator can read. Resolves with the path of the file. */
async function writeConfig(config: EdgeConfig): Promise<string> {
  // They take time to load, among them the descriptors of the proto files.
  const [{ bootstrap }, { stringify }] = await Promise.all([
    import('../../../envoy/config/bootstrap.ts'),
    import('yaml'),
  ]);
  const file = join(config.dataDir, 'envoy.yaml');
  const message = bootstrap(config, {
    root: ROOT,
    adminSocket: adminSocket(config),
    accessLog: config.logs === 'stdout' ? undefined : accessLog(config),
    secret: (name) => secretFile(config, name),
  });
  // Envoy reads YAML 1.1, in which "yes" needs quotes. It has the edge's secret.
  const text = stringify(message, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 });
  await writeFile(file, CONFIG_HEAD + text, { mode: 0o600 });
  return file;
}

export class Envoy extends Component {
  readonly #config: Config;
  readonly #binary: string;
  readonly #args: readonly string[];

  private constructor(config: Config, binary: string, args: readonly string[]) {
    super('Envoy', config.logs === 'files' ? new LogFile(join(logDir(config), 'envoy.log')) : new LogFile());
    this.#config = config;
    this.#binary = binary;
    const log = this.log.isFile ? ['--log-path', this.log.path] : ['--log-format', JSON_LOG_FORMAT];
    this.#args = [...args, '--log-level', 'warning', ...log];
  }

  /** Writes the configuration once, for so many servers: a restart works on a full disk. @throws ConfigError */
  static async prepare(config: EdgeConfig, binary: string, servers: number): Promise<Envoy> {
    await writeSecrets(config);
    // Hot restart is not used. Its socket has no permissions: any user of the machine could stop Envoy.
    // While Envoy drains, each kept connection ends with its next response, not at a random time.
    const fixed = ['--disable-hot-restart', '--drain-strategy', 'immediate'];
    const threads = servers === 0 ? [] : ['--concurrency', String(envoyThreads(servers))];
    return new Envoy(config, binary, ['--config-path', await writeConfig(config), ...fixed, ...threads]);
  }

  protected spawn(): Child {
    const env = Object.fromEntries(INHERITED_VARIABLES.map((name) => [name, process.env[name]]));
    return new Child('Envoy', this.#binary, this.#args, { env, log: this.log });
  }

  /** Envoy is ready when it has checked each server once and has opened its ports. */
  protected async waitUntilServing(child: Child): Promise<void> {
    const isReady = () => this.ping().catch(() => undefined);
    while ((await Promise.race([isReady(), child.failure()])) === undefined) await delay(POLL_MS);
  }

  ping(signal?: AbortSignal): Promise<unknown> {
    return callAdmin(this.#config, 'GET', '/ready', signal);
  }

  async reopenLogs(): Promise<void> {
    this.log.reopen();
    await callAdmin(this.#config, 'POST', '/reopen_logs');
  }

  /** Whether all clusters send requests to the server on this port; false while Envoy is busy or restarting, too. */
  async isHealthy(port: number): Promise<boolean> {
    const text = await callAdmin(this.#config, 'GET', '/clusters').catch(() => '');
    const clusters = Object.values(CLUSTERS);
    const flags = text.match(new RegExp(`^(${clusters.join('|')})::\\S+:${port}::health_flags::.*$`, 'gm')) ?? [];
    return flags.length === clusters.length && !flags.some((line) => line.includes('failed_active_hc'));
  }

  /** Allows as many open calls as the reachable servers of a standalone edge can have: they come and go. */
  async adjustCallLimit(): Promise<void> {
    const stats = `/stats?filter=^cluster.${CLUSTERS.calls}.membership_healthy$`;
    const healthy = /: (\d+)/.exec(await callAdmin(this.#config, 'GET', stats))?.[1];
    const maxCalls = MAX_CALLS_PER_SERVER * Math.max(1, Number(healthy ?? 0));
    const limits = ['max_requests', 'max_pending_requests'].map((name) => `${CIRCUIT_BREAKERS}.${name}=${maxCalls}`);
    await callAdmin(this.#config, 'POST', `/runtime_modify?${limits.join('&')}`);
  }

  /**
   * Closes the public port and waits until open requests have completed. Anybody can leave refusals and files unread:
   * what moves no more is not waited for.
   */
  async drain(): Promise<void> {
    const signal = AbortSignal.timeout(DRAIN_MS);
    try {
      await callAdmin(this.#config, 'POST', '/drain_listeners', signal);
      let [before, movedMs] = ['', performance.now()];
      while (performance.now() - movedMs < MAX_STALLED_MS) {
        const stats = await callAdmin(this.#config, 'GET', `/stats?filter=^(${DRAIN_STATS})$`, signal);
        if (/^http\.public\.downstream_rq_active: 0$/m.test(stats)) break;
        const isAtWork = /^cluster\..*: [1-9]/m.test(stats);
        if (stats !== before || isAtWork) movedMs = performance.now();
        before = stats;
        await delay(POLL_MS, undefined, { signal });
      }
      if (this.#config.traces !== undefined) await delay(LAST_SPANS_MS, undefined, { signal });
    } catch {
      // The time is over, or Envoy has exited.
    }
  }
}
