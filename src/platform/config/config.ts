/**
 * Reads the settings and checks them against each other. `config/settings.ts` declares each of them; here are only the
 * values that come from several, or that have another form than the setting.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ConfigError, type Environment, readSettings, type ValuesOf } from './setting.ts';
import { SETTINGS } from './settings.ts';

export type { Network, RedisConfig, ServerAddress } from './checks.ts';
export { ConfigError, ExpectedError, TemporaryFailure } from './setting.ts';

const HOUR_MS = 3_600_000;

/** The settings under their names in camel case, and what `toConfig` makes of some. */
export type Config = Readonly<ReturnType<typeof toConfig>>;
/** What Envoy is configured from. Without the setting the launcher makes a secret. */
export type EdgeConfig = Config & { readonly edgeSecret: string };
export type InternalTls = NonNullable<Config['internalTls']>;
export type MetricsConfig = NonNullable<Config['metrics']>;
export type TracesConfig = NonNullable<Config['traces']>;

/** Reads the settings. Throws ConfigError for the first bad one. */
export function readConfig(env: Environment = process.env): Config {
  const config = toConfig(readSettings(env, SETTINGS));
  const [broken] = RULES.filter(([isBroken]) => isBroken(config));
  if (broken !== undefined) throw new ConfigError(broken[1]);
  checkInternalTls(config);
  return config;
}

function toConfig(values: ValuesOf<typeof SETTINGS>) {
  const { internalTlsCa, internalTlsCert, internalTlsKey, metricsHost, metricsPort } = values;
  const { otelExporterOtlpEndpoint: endpoint } = values;
  return {
    ...values,
    corsOrigins: values.corsOrigins ?? [],
    trustedProxies: values.trustedProxies ?? [],
    demoAccount: values.demoAccount ?? values.databaseUrl === undefined,
    redis: values.redisUrl,
    idempotencyMs: values.idempotencyHours * HOUR_MS,
    /** The PEM files of the public port. */
    tls: allOrNone('TLS', { cert: values.tlsCert, key: values.tlsKey }),
    /** The PEM files of the connection between edge and servers. Without them all are on loopback. */
    internalTls: allOrNone('INTERNAL_TLS', { ca: internalTlsCa, cert: internalTlsCert, key: internalTlsKey }),
    /** The port is the first instance's; further instances use the ports after it. */
    metrics: metricsPort === undefined ? undefined : { host: metricsHost, port: metricsPort },
    /** Where traces are sent, and the share of requests that is. */
    traces: endpoint === undefined ? undefined : { endpoint, ratio: values.otelTracesSamplerArg },
    /** The plans' numbers (docs/guarantees.md, Limits). An enterprise account has its own quota. */
    limits: {
      plans: {
        free: { perMinute: values.freePerMinute, perDay: values.freePerDay },
        pro: { perMinute: values.proPerMinute, perDay: values.proPerDay },
        business: { perMinute: values.businessPerMinute, perDay: values.businessPerDay },
      },
      maxStreamMs: values.streamSeconds * 1_000,
      maxEventStreamMs: values.eventStreamSeconds * 1_000,
      ban: {
        refusals: values.banRefusals,
        windowMs: values.banWindowSeconds * 1_000,
        graceMs: values.banGraceSeconds * 1_000,
        durationMs: values.banSeconds * 1_000,
      },
    },
  };
}

/** What no configuration may be, and why. */
const RULES: readonly (readonly [isBroken: (config: Config) => boolean, why: string])[] = [
  [
    ({ httpPort, tls }) => httpPort !== undefined && tls === undefined,
    'HTTP_PORT needs TLS_CERT and TLS_KEY: it only sends callers on to HTTPS',
  ],
  [
    ({ instances, databaseUrl, redis }) => instances > 1 && (databaseUrl === undefined || redis === undefined),
    'INSTANCES above 1 needs DATABASE_URL and REDIS_URL: SQLite, and limits in memory, are for one process',
  ],
  [
    // A peer that sends a PROXY protocol header can claim any address.
    ({ proxyProtocol, trustedProxies }) => proxyProtocol && trustedProxies.length === 0,
    'PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect',
  ],
];

/** The files of settings with a common prefix; undefined when none is set. Throws ConfigError when only some are. */
function allOrNone<N extends string>(
  prefix: string,
  files: Readonly<Record<N, string | undefined>>,
): Readonly<Record<N, string>> | undefined {
  const names = Object.keys(files) as N[];
  const missing = names.filter((name) => files[name] === undefined);
  if (missing.length === 0) return files as Readonly<Record<N, string>>;
  if (missing.length === names.length) return undefined;
  const list = (some: readonly N[]) => some.map((name) => `${prefix}_${name.toUpperCase()}`).join(' and ');
  throw new ConfigError(`${list(missing)} must be set too: ${list(names)} belong together`);
}

/** A server believes the edge. Throws ConfigError when they may be on several machines without mutual TLS. */
function checkInternalTls({ grpcHost, servers = [], internalTls }: Config): void {
  const named = [['GRPC_HOST', grpcHost], ...servers.map(({ host }) => ['SERVERS', host])];
  const [remote] = named.filter(([, host = '']) => !isLoopback(host));
  if (internalTls !== undefined || remote === undefined) return;
  const files = 'INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
  const needed = `set ${files}: beyond loopback edge and servers speak mutual TLS only`;
  throw new ConfigError(`${remote.join(' names ')}, which is not loopback: ${needed}`);
}

/** Whether the host is loopback. Of names, only localhost is (RFC 6761, section 6.3). */
function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : ipaddr.process(host).range() === 'loopback';
}

/** Consecutive ports, one for each instance; none without a first one. */
export function portsOf({ instances }: Pick<Config, 'instances'>, first: number | undefined): number[] {
  return first === undefined ? [] : Array.from({ length: instances }, (_, index) => first + index);
}
