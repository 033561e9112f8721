/** Envoy in front of the servers: its configuration and its process, and what it says of the servers. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Config, ConfigError, grpcPorts } from '../config.ts';
import { ENVOY_VALUES } from '../edge/envoy-values.ts';
import { Child } from './child.ts';
import { adminSocket, EnvoyAdmin } from './envoy-admin.ts';
import { DRAIN_MS, logDir, ROOT } from './places.ts';

const PINNED_ENVOY = join(ROOT, '.envoy/envoy/_bin/envoy');
const POLL_MS = 50;
const ADMIN_MS = 5_000;
/**
 * How many calls a server may have under way; Envoy refuses more at once. By `npm run bench:overload`, on one core, at
 * five times the capacity: with 512 the service answers 1.5 times as many requests as with 256, because the place of a
 * call that is done stays empty until Envoy has gone through all that it has to refuse. Of 2,000 clients at once nearly
 * all are served, and not some 1,700. On a core a ninth as fast p99 is 1.9 s, and 2 s is the most that it may be.
 */
const MAX_CALLS_PER_SERVER = 512;

/** What Envoy may inherit. The settings among the variables hold passwords and the operator's key. */
const VARIABLES = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH'];

/** Each server is in all: one for calls, one for callers without a key, one for what needs no key. */
const CLUSTERS = ['petstore', 'petstore_strangers', 'petstore_open'];

/** A server as Envoy sees it. */
export interface Host {
  /** Whether new requests of every kind go to it. */
  readonly isHealthy: boolean;
  /** Whether none goes to it any more. */
  readonly isAvoided: boolean;
  /** Connections that requests go over; the health checks have their own. */
  readonly connections: number;
}

interface Clusters {
  readonly cluster_statuses?: readonly {
    readonly name: string;
    readonly host_statuses?: readonly {
      readonly address: { readonly socket_address: { readonly port_value: number } };
      readonly stats: readonly { readonly name: string; readonly value?: string }[];
      readonly health_status: {
        readonly failed_active_health_check?: boolean;
        readonly failed_outlier_check?: boolean;
      };
    }[];
  }[];
}

export function findEnvoy({ envoy }: Config): string {
  const binary = envoy ?? PINNED_ENVOY;
  if (!existsSync(binary)) throw new ConfigError(`there is no Envoy at ${binary}: run "npm start", or set ENVOY`);
  return binary;
}

export class Envoy {
  readonly child: Child;
  readonly #admin: EnvoyAdmin;

  private constructor(child: Child, config: Config) {
    this.child = child;
    this.#admin = new EnvoyAdmin(config);
  }

  static async start(config: Config, binary: string): Promise<Envoy> {
    const file = join(config.dataDir, 'envoy.yaml');
    await writeFile(file, fillIn(await readFile(join(ROOT, 'envoy/envoy.yaml'), 'utf8'), config));
    // Hot restart, which is not used, would let any user of the machine end Envoy over a socket without permissions.
    const args = ['--config-path', file, '--disable-hot-restart', '--log-level', 'warning'];
    const env = Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]]));
    const logFile = join(logDir(config), 'envoy.log');
    return new Envoy(new Child('Envoy', binary, args, { env, endsWithParent: true, logFile }), config);
  }

  /** The server on a private port; undefined while Envoy does not say. */
  async host(port: number): Promise<Host | undefined> {
    const clusters = (await this.#clusters())?.filter(({ name }) => CLUSTERS.includes(name));
    const hosts = clusters?.flatMap(({ host_statuses = [] }) =>
      host_statuses.filter(({ address }) => address.socket_address.port_value === port),
    );
    if (hosts?.length !== CLUSTERS.length) return undefined;
    const healthy = hosts.filter(({ health_status: { failed_active_health_check, failed_outlier_check } }) => {
      return !failed_active_health_check && !failed_outlier_check;
    });
    const connections = hosts.map(({ stats }) => Number(stats.find(({ name }) => name === 'cx_active')?.value ?? 0));
    return {
      isHealthy: healthy.length === hosts.length,
      isAvoided: healthy.length === 0,
      connections: connections.reduce((sum, count) => sum + count, 0),
    };
  }

  async #clusters(): Promise<Clusters['cluster_statuses']> {
    try {
      const answer = await this.#admin.get('/clusters?format=json', AbortSignal.timeout(ADMIN_MS));
      return (JSON.parse(answer) as Clusters).cluster_statuses;
    } catch {
      return undefined; // very busy; if it has ended, that ends everything
    }
  }

  /** Closes the public port and waits until the requests that are open have been answered. */
  async drain(): Promise<void> {
    const signal = AbortSignal.timeout(DRAIN_MS);
    try {
      await this.#admin.post('/drain_listeners', signal);
      const stats = '/stats?filter=^http.public.downstream_rq_active$';
      while (!(await this.#admin.get(stats, signal)).trim().endsWith(': 0')) {
        await delay(POLL_MS, undefined, { signal });
      }
    } catch {
      // Too late, or Envoy has gone: nothing is open any more.
    }
  }
}

/** Fills the `${NAME}` places of envoy.yaml. Texts stand in double quotes there. */
function fillIn(template: string, config: Config): string {
  const values: Readonly<Record<string, string | number>> = {
    ...ENVOY_VALUES,
    MAX_CALLS: MAX_CALLS_PER_SERVER * config.instances,
    HOST: config.host,
    PORT: config.port,
    ENDPOINTS: `[${grpcPorts(config).map(toEndpoint).join(', ')}]`,
    ENVOY_ADMIN_PORT: config.envoyAdminPort,
    ADMIN_SOCKET: adminSocket(config),
    ROOT,
    LOG_DIR: logDir(config),
  };
  return template.replace(/\$\{([A-Z_]+)\}/g, (place, name: string) => {
    const value = values[name];
    return value === undefined ? place : String(value).replace(/["\\]/g, '\\$&');
  });
}

function toEndpoint(port: number): string {
  return `{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }`;
}
