/** Envoy's configuration: the places of envoy.yaml filled in, and its optional parts chosen. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CALL_TIMEOUT_MS } from '../bounds.ts';
import { type Config, grpcPorts } from '../config.ts';
import { ENVOY_VALUES } from '../edge/envoy-values.ts';
import { SECOND_READ_MS } from '../edge/retries.ts';
import { adminSocket } from './envoy-admin.ts';
import { logDir, ROOT } from './places.ts';
import { secretFile, secretsOf } from './secrets.ts';
import { fillIn, type Value } from './template.ts';

/**
 * How many calls a server may have under way; Envoy refuses more at once. By `npm run bench:overload`, on one core, at
 * five times the capacity: with 512 the service answers 1.5 times as many requests as with 256, because the place of a
 * call that is done stays empty until Envoy has gone through all that it has to refuse. Of 2,000 clients at once nearly
 * all are served, and not some 1,700. On a core a ninth as fast p99 is 1.9 s, and 2 s is the most that it may be.
 */
const MAX_CALLS_PER_SERVER = 512;

/** The port that an https URL has when it names none. */
const HTTPS_PORT = 443;

/** Writes the configuration into the data folder. Resolves with its path. */
export async function writeEnvoyConfig(config: Config): Promise<string> {
  const file = join(config.dataDir, 'envoy.yaml');
  const template = await readFile(join(ROOT, 'envoy/envoy.yaml'), 'utf8');
  await writeFile(file, fillIn(template, valuesOf(config), partsOf(config)));
  return file;
}

function valuesOf(config: Config): Readonly<Record<string, Value>> {
  return {
    ...ENVOY_VALUES,
    MAX_CALLS: MAX_CALLS_PER_SERVER * config.instances,
    // An only server has nobody to stand in for it: nothing is sent twice before the deadline of the call.
    SECOND_READ_MS: config.instances === 1 ? CALL_TIMEOUT_MS : SECOND_READ_MS,
    HOST: config.host,
    PORT: config.port,
    ENDPOINTS: grpcPorts(config).map(toEndpoint),
    ENVOY_ADMIN_PORT: config.envoyAdminPort,
    ADMIN_SOCKET: adminSocket(config),
    ROOT,
    LOG_DIR: logDir(config),
    TLS_SECRET: secretFile(config, 'public'),
    HTTP_PORT: config.httpPort ?? 0,
  };
}

function toEndpoint(port: number) {
  return { endpoint: { address: { socket_address: { address: '127.0.0.1', port_value: port } } } };
}

/** Which optional parts of envoy.yaml are there. */
function partsOf(config: Config): Readonly<Record<string, boolean>> {
  return {
    SECRETS: secretsOf(config).length > 0,
    TLS: config.tls !== undefined,
    HTTP_PORT: config.httpPort !== undefined,
    HTTPS_PORT: config.port !== HTTPS_PORT,
  };
}
