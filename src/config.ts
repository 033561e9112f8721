/** Reads the settings and checks them against each other. `config/settings.ts` declares each of them. */

import { type LogLevel, MAX_PORT, type RedisConfig, type Sampler, type ServerAddress } from './config/checks.ts';
import { checkInternalTls, type InternalTls, toInternalTls } from './config/internal-tls.ts';
import type { Network } from './config/networks.ts';
import { ConfigError, type Environment, readSetting, type Setting } from './config/setting.ts';
import { SETTINGS } from './config/settings.ts';
import type { BanPolicy, Quota } from './model.ts';

export { ConfigError, type InternalTls, type LogLevel, type Network, type RedisConfig, type ServerAddress };

const HOUR_MS = 3_600_000;

export interface Config {
  /** The address that the public port listens on. */
  readonly host: string;
  /** Envoy's public port: REST, gRPC and gRPC-Web. */
  readonly port: number;
  /** The TLS of the public port; undefined: none. */
  readonly tls: TlsFiles | undefined;
  /** The port that redirects plain HTTP to HTTPS; undefined: none. */
  readonly httpPort: number | undefined;
  /** The origins whose pages may call the service in a browser; `*` is all of them. */
  readonly corsOrigins: readonly string[];
  /** The proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Whether each connection to the public port begins with a PROXY protocol header. */
  readonly proxyProtocol: boolean;
  /** The gRPC server's private port; further instances use the ports after it. */
  readonly grpcPort: number;
  /** The address that a standalone server listens on. Any but loopback needs TLS. */
  readonly grpcHost: string;
  /** The servers of a standalone edge; undefined: those of this machine. */
  readonly servers: readonly ServerAddress[] | undefined;
  /** The TLS between edge and servers; undefined: none, and all are on loopback. */
  readonly internalTls: InternalTls | undefined;
  /** How many servers the launcher starts behind Envoy. More than one needs PostgreSQL and Redis. */
  readonly instances: number;
  /** The port of Envoy's statistics, on loopback. */
  readonly envoyAdminPort: number;
  /** The folder of the SQLite file, the demo key and the logs. */
  readonly dataDir: string;
  /**
   * The PostgreSQL database, `postgres://user:password@host:port/name`; undefined: the SQLite file in the data
   * folder.
   */
  readonly databaseUrl: string | undefined;
  /** The most connections of each server to PostgreSQL. */
  readonly databaseConnections: number;
  /** Whether the database's URL leads to PgBouncer. */
  readonly pgbouncer: boolean;
  /** Whether a start migrates the database; otherwise `npm run migrate` does. */
  readonly migrateAtStart: boolean;
  /** The Redis that counts limits for all instances; undefined: each server counts in memory. */
  readonly redis: RedisConfig | undefined;
  /** The least severe messages that are logged. */
  readonly logLevel: LogLevel;
  /** The server's log; undefined: stdout. The launcher, which rotates the file, sets it. */
  readonly logFile: string | undefined;
  /** Where a standalone edge logs. */
  readonly logs: 'files' | 'stdout';
  /** The audit log; undefined: the server's log. The launcher sets it. */
  readonly auditFile: string | undefined;
  /** The size at which the launcher rotates a log. */
  readonly logMaxBytes: number;
  /** The most files of a log, the current one included. */
  readonly logFiles: number;
  /** Where each server's metrics are read; undefined: nothing is measured. */
  readonly metrics: MetricsConfig | undefined;
  /** The collector, and which requests are traced; undefined: none. */
  readonly traces: TracesConfig | undefined;
  /** Another Envoy binary than the pinned one. */
  readonly envoy: string | undefined;
  /** Whether an empty database gets an account with a key in `DATA_DIR/demo.key`. */
  readonly demoAccount: boolean;
  /** The operator's key for the admin service; undefined: the one in `DATA_DIR/operator.key`. */
  readonly operatorKey: string | undefined;
  /** How many days usage is kept, besides today. */
  readonly usageDays: number;
  /** How long a response is kept under its idempotency key. */
  readonly idempotencyMs: number;
  readonly limits: LimitsConfig;
}

export interface MetricsConfig {
  readonly host: string;
  /** The first instance's; further instances use the ports after it. */
  readonly port: number;
}

/** PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Where traces are sent, and which requests are traced. */
export interface TracesConfig {
  /** `http://host:port`, with the path before `/v1/traces` if there is one. */
  readonly endpoint: string;
  /** The share of requests, above 0. */
  readonly ratio: number;
  /** Whether a caller's `traceparent` decides if a request is traced. */
  readonly trustsCallers: boolean;
}

/** The numbers of the contract's section 8. */
export interface LimitsConfig {
  /** The quota of each plan. An enterprise account has its own. */
  readonly plans: Readonly<Record<'free' | 'pro' | 'business', Quota>>;
  /** Requests a minute without a valid key, per IP address. */
  readonly addressPerMinute: number;
  /** How many IP addresses have a count of their own in one minute; the others share one. */
  readonly maxAddresses: number;
  readonly ban: BanPolicy;
}

function toTraces(given: {
  readonly endpoint: string | undefined;
  readonly sampler: Sampler;
  readonly ratio: number;
}): TracesConfig | undefined {
  const { endpoint, sampler } = given;
  if (endpoint === undefined) return undefined;
  const ratio = sampler.endsWith('ratio') ? given.ratio : 1;
  return { endpoint, ratio, trustsCallers: sampler.startsWith('parentbased') };
}

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Reads the settings. Throws ConfigError for the first bad one. */
export function readConfig(env: Environment = process.env): Config {
  const value = <N extends keyof Settings>(name: N) =>
    readSetting(env, name, SETTINGS[name] as Setting<ValueOf<Settings[N]>>);
  const databaseUrl = value('DATABASE_URL');
  const metricsPort = value('METRICS_PORT');
  const config: Config = {
    host: value('HOST'),
    port: value('PORT'),
    tls: toTls(value('TLS_CERT'), value('TLS_KEY')),
    httpPort: value('HTTP_PORT'),
    corsOrigins: value('CORS_ORIGINS') ?? [],
    trustedProxies: value('TRUSTED_PROXIES') ?? [],
    proxyProtocol: value('PROXY_PROTOCOL'),
    grpcPort: value('GRPC_PORT'),
    grpcHost: value('GRPC_HOST'),
    servers: value('SERVERS'),
    internalTls: toInternalTls({
      INTERNAL_TLS_CA: value('INTERNAL_TLS_CA'),
      INTERNAL_TLS_CERT: value('INTERNAL_TLS_CERT'),
      INTERNAL_TLS_KEY: value('INTERNAL_TLS_KEY'),
    }),
    instances: value('INSTANCES'),
    envoyAdminPort: value('ENVOY_ADMIN_PORT'),
    dataDir: value('DATA_DIR'),
    databaseUrl,
    databaseConnections: value('DATABASE_CONNECTIONS'),
    pgbouncer: value('PGBOUNCER'),
    migrateAtStart: value('MIGRATE_AT_START'),
    redis: value('REDIS_URL'),
    logLevel: value('LOG_LEVEL'),
    logFile: value('LOG_FILE'),
    logs: value('LOGS'),
    auditFile: value('AUDIT_FILE'),
    logMaxBytes: value('LOG_MAX_BYTES'),
    logFiles: value('LOG_FILES'),
    metrics: metricsPort === undefined ? undefined : { host: value('METRICS_HOST'), port: metricsPort },
    traces: toTraces({
      endpoint: value('OTEL_EXPORTER_OTLP_ENDPOINT'),
      sampler: value('OTEL_TRACES_SAMPLER'),
      ratio: value('OTEL_TRACES_SAMPLER_ARG'),
    }),
    envoy: value('ENVOY'),
    demoAccount: value('DEMO_ACCOUNT') ?? databaseUrl === undefined,
    operatorKey: value('OPERATOR_KEY'),
    usageDays: value('USAGE_DAYS'),
    idempotencyMs: value('IDEMPOTENCY_HOURS') * HOUR_MS,
    limits: {
      plans: {
        free: { perMinute: value('FREE_PER_MINUTE'), perDay: value('FREE_PER_DAY') },
        pro: { perMinute: value('PRO_PER_MINUTE'), perDay: value('PRO_PER_DAY') },
        business: { perMinute: value('BUSINESS_PER_MINUTE'), perDay: value('BUSINESS_PER_DAY') },
      },
      addressPerMinute: value('ADDRESS_PER_MINUTE'),
      maxAddresses: value('MAX_ADDRESSES'),
      ban: {
        refusals: value('BAN_REFUSALS'),
        windowMs: value('BAN_WINDOW_SECONDS') * 1_000,
        durationMs: value('BAN_SECONDS') * 1_000,
      },
    },
  };
  checkHttpPort(config);
  checkPortsDiffer(config);
  checkInstances(config);
  checkInternalTls(config);
  checkProxyProtocol(config);
  return config;
}

function toTls(cert: string | undefined, key: string | undefined): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  const [given, missing] = cert === undefined ? ['TLS_KEY', 'TLS_CERT'] : ['TLS_CERT', 'TLS_KEY'];
  throw new ConfigError(`${given} needs ${missing}: set both, or none`);
}

function checkHttpPort({ httpPort, tls }: Config): void {
  if (httpPort !== undefined && tls === undefined) {
    throw new ConfigError('HTTP_PORT needs TLS_CERT and TLS_KEY: it only sends callers on to HTTPS');
  }
}

function checkPortsDiffer(config: Config): void {
  const named: [name: string, port: number][] = [
    ['PORT', config.port],
    ...nameEach('HTTP_PORT', config.httpPort === undefined ? [] : [config.httpPort]),
    ...nameEach('GRPC_PORT', grpcPorts(config)),
    ['ENVOY_ADMIN_PORT', config.envoyAdminPort],
    ...nameEach('METRICS_PORT', metricsPorts(config)),
  ];
  const names = new Map<number, string>();
  for (const [name, value] of named) {
    const other = names.get(value);
    if (other !== undefined) throw new ConfigError(`${name} must not be ${other}'s port ${value}`);
    names.set(value, name);
  }
}

/** The names of consecutive ports, of which the setting is the first. */
function nameEach(setting: string, ports: readonly number[]): [name: string, port: number][] {
  if (Number(ports.at(-1)) > MAX_PORT) {
    throw new ConfigError(`${setting} must leave room for ${ports.length} ports up to ${MAX_PORT}`);
  }
  return ports.map((port, index) => [index === 0 ? setting : `${setting}+${index}`, port]);
}

/** The private ports of all instances, consecutive. */
export function grpcPorts({ grpcPort, instances }: Pick<Config, 'grpcPort' | 'instances'>): number[] {
  return consecutive(grpcPort, instances);
}

/** The ports of all instances' metrics, consecutive; none when they are off. */
export function metricsPorts({ metrics, instances }: Pick<Config, 'metrics' | 'instances'>): number[] {
  return metrics === undefined ? [] : consecutive(metrics.port, instances);
}

function consecutive(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

function checkInstances({ instances, databaseUrl, redis }: Config): void {
  if (instances === 1) return;
  const missing = [
    ...(databaseUrl === undefined ? ['DATABASE_URL (SQLite is for one process)'] : []),
    ...(redis === undefined ? ['REDIS_URL (limits in memory are for one process)'] : []),
  ];
  if (missing.length > 0) throw new ConfigError(`INSTANCES=${instances} needs ${missing.join(' and ')}`);
}

/** A peer that sends a PROXY protocol header can claim any address. */
function checkProxyProtocol({ proxyProtocol, trustedProxies }: Config): void {
  if (!proxyProtocol || trustedProxies.length > 0) return;
  throw new ConfigError('PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect');
}
