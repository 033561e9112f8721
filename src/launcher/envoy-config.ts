/** Envoy's configuration: the `${NAME}` places of envoy.yaml filled in. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CALL_TIMEOUT_MS } from '../bounds.ts';
import { type Config, grpcPorts } from '../config.ts';
import { ENVOY_VALUES } from '../edge/envoy-values.ts';
import { SECOND_READ_MS } from '../edge/retries.ts';
import { adminSocket } from './envoy-admin.ts';
import { logDir, ROOT } from './places.ts';

/**
 * How many calls a server may have under way; Envoy refuses more at once. By `npm run bench:overload`, on one core, at
 * five times the capacity: with 512 the service answers 1.5 times as many requests as with 256, because the place of a
 * call that is done stays empty until Envoy has gone through all that it has to refuse. Of 2,000 clients at once nearly
 * all are served, and not some 1,700. On a core a ninth as fast p99 is 1.9 s, and 2 s is the most that it may be.
 */
const MAX_CALLS_PER_SERVER = 512;

/** Writes the configuration into the data folder. Resolves with its path. */
export async function writeEnvoyConfig(config: Config): Promise<string> {
  const file = join(config.dataDir, 'envoy.yaml');
  await writeFile(file, fillIn(await readFile(join(ROOT, 'envoy/envoy.yaml'), 'utf8'), valuesOf(config)));
  return file;
}

/** Fills in the `${NAME}` places of a configuration, in which texts stand in double quotes. */
export function fillIn(template: string, values: Readonly<Record<string, string | number>>): string {
  return template.replace(/\$\{([A-Z_]+)\}/g, (place, name: string) => {
    const value = values[name];
    return value === undefined ? place : String(value).replace(/["\\]/g, '\\$&');
  });
}

function valuesOf(config: Config): Readonly<Record<string, string | number>> {
  return {
    ...ENVOY_VALUES,
    MAX_CALLS: MAX_CALLS_PER_SERVER * config.instances,
    // An only server has nobody to stand in for it: nothing is sent twice before the deadline of the call.
    SECOND_READ_MS: config.instances === 1 ? CALL_TIMEOUT_MS : SECOND_READ_MS,
    HOST: config.host,
    PORT: config.port,
    ENDPOINTS: `[${grpcPorts(config).map(toEndpoint).join(', ')}]`,
    ENVOY_ADMIN_PORT: config.envoyAdminPort,
    ADMIN_SOCKET: adminSocket(config),
    ROOT,
    LOG_DIR: logDir(config),
  };
}

function toEndpoint(port: number): string {
  return `{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }`;
}
