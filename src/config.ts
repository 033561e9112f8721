/** The settings of this process, read and checked against each other. Each is declared in `config/settings.ts`. */

import { type LogLevel, MAX_PORT, type RedisConfig, type Sampler, type ServerAddress } from './config/checks.ts';
import { checkHopIsPrivate, type InternalTls, toInternalTls } from './config/internal-tls.ts';
import type { Network } from './config/networks.ts';
import { ConfigError, type Environment, readSetting, type Setting } from './config/setting.ts';
import { SETTINGS } from './config/settings.ts';
import type { BanPolicy, Quota } from './model.ts';

export { ConfigError, type InternalTls, type LogLevel, type Network, type RedisConfig, type ServerAddress };

const HOUR_MS = 3_600_000;

export interface Config {
  /** The address that the public port listens on. Anything but loopback is a decision. */
  readonly host: string;
  /** Envoy's public port: REST, gRPC and gRPC-Web. */
  readonly port: number;
  /** The TLS of the public port; undefined: none. */
  readonly tls: TlsFiles | undefined;
  /** Where plain HTTP is sent on to HTTPS; undefined: nowhere. */
  readonly httpPort: number | undefined;
  /** Whose pages may call the service in a browser: origins, or `*` for all of them. */
  readonly corsOrigins: readonly string[];
  /** Whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly Network[];
  /** Whether a connection to the public port begins with a PROXY protocol header. */
  readonly proxyProtocol: boolean;
  /** The gRPC server's private port; further instances take the ports after it. */
  readonly grpcPort: number;
  /** The address that a server alone listens on. Beyond loopback it speaks TLS. */
  readonly grpcHost: string;
  /** Where an edge alone finds its servers; undefined: this machine's. */
  readonly servers: readonly ServerAddress[] | undefined;
  /** The TLS between edge and servers; undefined: none, and all of them on loopback. */
  readonly internalTls: InternalTls | undefined;
  /** How many servers the launcher starts behind Envoy. More than one need PostgreSQL and Redis to share. */
  readonly instances: number;
  /** Where Envoy's statistics can be read, on loopback. */
  readonly envoyAdminPort: number;
  /** The folder of the SQLite file, the demo key and the logs. */
  readonly dataDir: string;
  /** The PostgreSQL database, `postgres://user:password@host:port/name`; undefined: the SQLite file in the data folder. */
  readonly databaseUrl: string | undefined;
  /** Connections of each server to PostgreSQL at the most. */
  readonly databaseConnections: number;
  /** Whether statements on PostgreSQL are prepared and kept; undefined: unless there is a pooler in between. */
  readonly preparedStatements: boolean | undefined;
  /** Whether a start brings the database's schema up to date, rather than leave that to `npm run migrate`. */
  readonly migrateAtStart: boolean;
  /** Where limits are counted for all instances; undefined: in each server's own memory. */
  readonly redis: RedisConfig | undefined;
  /** The least severe messages that are logged. */
  readonly logLevel: LogLevel;
  /** The server's log; undefined: stdout. The launcher, which rotates the file, sets it. */
  readonly logFile: string | undefined;
  /** Where an edge alone logs. */
  readonly logs: 'files' | 'stdout';
  /** Where what the operator does is written down; undefined: the server's log. The launcher sets it. */
  readonly auditFile: string | undefined;
  /** The size at which the launcher begins another file of a log. */
  readonly logMaxBytes: number;
  /** How many files of a log there are at the most, with the one that is written to. */
  readonly logFiles: number;
  /** Where each server's metrics can be read; undefined: nowhere, and nothing is measured. */
  readonly metrics: MetricsConfig | undefined;
  /** Where traces are sent to, and which; undefined: nothing is traced. */
  readonly traces: TracesConfig | undefined;
  /** Another Envoy binary than the pinned one. */
  readonly envoy: string | undefined;
  /** Whether an empty database gets an account with a key in `DATA_DIR/demo.key`. */
  readonly demoAccount: boolean;
  /** The operator's key for the admin service; undefined: the one in `DATA_DIR/operator.key`. */
  readonly operatorKey: string | undefined;
  /** For how many days usage is kept, today not counted. */
  readonly usageDays: number;
  /** For how long an answer is remembered under its idempotency key. */
  readonly idempotencyMs: number;
  readonly limits: LimitsConfig;
}

export interface MetricsConfig {
  readonly host: string;
  /** Of the first instance; further instances take the ports after it. */
  readonly port: number;
}

/** PEM files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Where traces go, and which requests have one. */
export interface TracesConfig {
  /** `http://host:port`, and a path before `/v1/traces` where there is one. */
  readonly endpoint: string;
  /** The share of requests, above 0. */
  readonly ratio: number;
  /** Whether a caller's `traceparent` says if a request is traced. */
  readonly believesCallers: boolean;
}

/** The numbers of the contract's section 8. */
export interface LimitsConfig {
  /** What each plan allows. An enterprise account has its own agreed numbers. */
  readonly plans: Readonly<Record<'free' | 'pro' | 'business', Quota>>;
  /** Requests a minute without a valid key, per IP address. */
  readonly addressPerMinute: number;
  /** IP addresses told apart in one minute; those beyond share one count. */
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
  return { endpoint, ratio, believesCallers: sampler.startsWith('parentbased') };
}

type Settings = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Reads the settings. Throws ConfigError with a line for the first one that is not right. */
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
    preparedStatements: value('PREPARED_STATEMENTS'),
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
  checkRedirects(config);
  checkPortsDiffer(config);
  checkInstancesShare(config);
  checkHopIsPrivate(config);
  checkProxiesAreKnown(config);
  return config;
}

function toTls(cert: string | undefined, key: string | undefined): TlsFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  const [given, missing] = cert === undefined ? ['TLS_KEY', 'TLS_CERT'] : ['TLS_CERT', 'TLS_KEY'];
  throw new ConfigError(`${given} needs ${missing}: set both, or none`);
}

function checkRedirects({ httpPort, tls }: Config): void {
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

/** The setting's ports, of which all but the first follow from it. */
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

function checkInstancesShare({ instances, databaseUrl, redis }: Config): void {
  if (instances === 1) return;
  const missing = [
    ...(databaseUrl === undefined ? ['DATABASE_URL (SQLite is for one process)'] : []),
    ...(redis === undefined ? ['REDIS_URL (limits in memory are for one process)'] : []),
  ];
  if (missing.length > 0) throw new ConfigError(`INSTANCES=${instances} needs ${missing.join(' and ')}`);
}

/** Who may begin a connection with a PROXY protocol header calls from whatever address it likes. */
function checkProxiesAreKnown({ proxyProtocol, trustedProxies }: Config): void {
  if (!proxyProtocol || trustedProxies.length > 0) return;
  throw new ConfigError('PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect');
}
