/** Envoy's configuration: the template envoy.yaml with its values and optional sections. */
import { readFile, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { MAX_CALLS_PER_SERVER } from '../config/constants.ts';
import type { Config, Network, TracesConfig } from '../config.ts';
import { corsValues } from '../edge/cors.ts';
import { accessLogs } from '../edge/envoy-access-log.ts';
import { ENVOY_VALUES, floodValues } from '../edge/envoy-values.ts';
import { adminSocket } from './envoy-admin.ts';
import { accessLog, ROOT } from './paths.ts';
import { listSecrets, secretFile } from './secrets.ts';
import { endpoints, hedgeDelayMs, listServers, serverTls } from './servers.ts';
import { fillIn, type Value } from './template.ts';

/** The default port of https URLs. */
const HTTPS_PORT = 443;

/** How long a caller's connection may be idle. */
const IDLE_TIMEOUT = '10s';
/**
 * How long a trusted proxy's connection may be idle: longer than the proxy itself keeps it, so that the proxy sends no
 * request on a connection that Envoy is closing. (Google's load balancers keep one for 600 s, others for about 60 s.)
 */
const PROXY_IDLE_TIMEOUT = '620s';

/** Writes the configuration to the data folder. Resolves with its path. */
export async function writeEnvoyConfig(config: Config): Promise<string> {
  const file = join(config.dataDir, 'envoy.yaml');
  const template = await readFile(join(ROOT, 'envoy/envoy.yaml'), 'utf8');
  // It has the edge's secret.
  await writeFile(file, fillIn(template, templateValues(config), templateSections(config)), { mode: 0o600 });
  return file;
}

function templateValues(config: Config): Readonly<Record<string, Value>> {
  return {
    ...ENVOY_VALUES,
    MAX_CALLS: MAX_CALLS_PER_SERVER * listServers(config).length,
    HEDGE_DELAY_MS: hedgeDelayMs(config),
    HOST: config.host,
    PORT: config.port,
    IDLE_TIMEOUT: config.trustedProxies.length > 0 && !config.proxyProtocol ? PROXY_IDLE_TIMEOUT : IDLE_TIMEOUT,
    TRUSTED_PROXIES: config.trustedProxies.flatMap(toRanges),
    EDGE_SECRET: config.edgeSecret ?? '',
    ENDPOINTS: endpoints(config),
    SERVER_TLS: config.internalTls === undefined ? [] : serverTls(config, internalSecrets(config)),
    ENVOY_ADMIN_PORT: config.envoyAdminPort,
    ADMIN_SOCKET: adminSocket(config),
    ROOT,
    LUA_PATH: `${ROOT}/envoy/?.lua;${ROOT}/gen/edge/?.lua`,
    ACCESS_LOG: accessLogs({
      file: config.logs === 'stdout' ? undefined : accessLog(config),
      isTraced: config.traces !== undefined,
    }),
    ...floodValues(config.limits),
    ...corsValues(config.corsOrigins),
    TLS_SECRET: secretFile(config, 'public'),
    HTTP_PORT: config.httpPort ?? 0,
    ...tracesValues(config.traces),
  };
}

function internalSecrets(config: Config) {
  return { own: secretFile(config, 'internal'), authority: secretFile(config, 'internal_ca') };
}

/** An IPv4 network, as IPv6 too: a proxy that listens on both may write ::ffff:192.0.2.1. */
function toRanges({ address, bits }: Network) {
  const range = { address_prefix: address, prefix_len: bits };
  return isIPv4(address) ? [range, { address_prefix: `::ffff:${address}`, prefix_len: 96 + bits }] : [range];
}

function tracesValues(traces: TracesConfig | undefined): Readonly<Record<string, Value>> {
  if (traces === undefined) return {};
  const { hostname, port } = new URL(traces.endpoint);
  return {
    TRACES_URL: `${traces.endpoint}/v1/traces`,
    TRACES_HOST: hostname.replace(/^\[|\]$/g, ''),
    TRACES_PORT: port === '' ? 80 : Number(port),
    TRACES_PPM: Math.round(traces.ratio * 1_000_000),
    // The request id is random, so its first digits decide which requests are traced.
    TRACES_BELOW: Math.floor(traces.ratio * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  };
}

/** Which optional sections of envoy.yaml are included. */
function templateSections(config: Config): Readonly<Record<string, boolean>> {
  return {
    SECRETS: listSecrets(config).length > 0,
    TRUSTED_PROXIES: config.trustedProxies.length > 0,
    PROXY_PROTOCOL: config.proxyProtocol,
    TLS: config.tls !== undefined,
    CORS: config.corsOrigins.length > 0,
    SERVERS: config.servers !== undefined,
    HTTP_PORT: config.httpPort !== undefined,
    TRACES: config.traces !== undefined,
    TRACES_BELIEVE_CALLERS: config.traces?.trustsCallers ?? false,
    TRACES_ALL: config.traces?.ratio === 1,
    HTTPS_PORT: config.port !== HTTPS_PORT,
  };
}
