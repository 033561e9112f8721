/** Checks at start that the ports are free, so that a busy one is one clear line. */
import { createServer } from 'node:net';
import { type Config, ConfigError, grpcPorts, metricsPorts } from '../config/config.ts';

/** Checks the ports of Envoy, and of the servers that start with it. Throws ConfigError when one is not free. */
export async function checkPorts(config: Config, hasServers: boolean): Promise<void> {
  if (hasServers) {
    for (const port of grpcPorts(config)) await checkFree('GRPC_PORT', '127.0.0.1', port);
    for (const port of metricsPorts(config)) await checkFree('METRICS_PORT', config.metrics?.host ?? '', port);
  }
  await checkFree('PORT', config.host, config.port);
  if (config.httpPort !== undefined) await checkFree('HTTP_PORT', config.host, config.httpPort);
  await checkFree('ENVOY_ADMIN_PORT', config.envoyAdminHost, config.envoyAdminPort);
}

/** Throws ConfigError when the port is not free. `setting` ends with PORT; the address is the setting ..._HOST. */
export async function checkFree(setting: string, host: string, port: number): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, exclusive: true }, resolve);
    });
  } catch (error) {
    throw new ConfigError(describe(setting, host, port, error as NodeJS.ErrnoException));
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

function describe(setting: string, host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is busy: stop what listens there, or set ${setting} to another port`;
    case 'EACCES':
      return `port ${port} may not be opened by this user: set ${setting} to a port above 1023`;
    case 'EADDRNOTAVAIL':
      return `${setting.replace('PORT', 'HOST')} ${host} is no address of this machine`;
    default:
      return `can't listen on ${host}:${port}: ${message}`;
  }
}
