/** Checks at start that the ports are free, so that a busy one is one clear line. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Config, ConfigError, portsOf } from '../config/config.ts';

/** A setting that ends with PORT, and the value of the setting ..._HOST. */
type Listener = readonly [setting: string, host: string, port: number];

/** What the servers listen on, as many as `INSTANCES`. */
export function ofServers(config: Config): readonly Listener[] {
  return [
    ...portsOf(config, config.grpcPort).map((one): Listener => ['GRPC_PORT', config.grpcHost, one]),
    ...portsOf(config, config.metrics?.port).map((one): Listener => ['METRICS_PORT', config.metrics?.host ?? '', one]),
  ];
}

/** Checks the ports of Envoy, and of the servers that start with it. Throws ConfigError when one is not free. */
export async function checkPorts(config: Config, hasServers: boolean): Promise<void> {
  const { host, port, httpPort, envoyAdminHost, envoyAdminPort } = config;
  await checkFree([
    ...(hasServers ? ofServers(config) : []),
    ['PORT', host, port],
    ...(httpPort === undefined ? [] : [['HTTP_PORT', host, httpPort] as const]),
    ['ENVOY_ADMIN_PORT', envoyAdminHost, envoyAdminPort],
  ]);
}

/** Throws ConfigError when a port is not free. Holds all ports meanwhile: no two settings may have the same one. */
export async function checkFree(listeners: readonly Listener[]): Promise<void> {
  await using held = new AsyncDisposableStack();
  for (const [setting, host, port] of listeners) {
    const server = held.use(createServer((client) => client.destroy())); // it would hold up the close
    try {
      await once(server.listen({ host, port, exclusive: true }), 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const isBusy = code === 'EADDRINUSE';
      if (!isBusy) throw new ConfigError(`${setting} can't be opened on ${host}, port ${port}: ${message}`);
      throw new ConfigError(`port ${port} is busy: stop what listens there, or set ${setting} to another port`);
    }
  }
}
