/** Free ports that no other test uses. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { Scope } from '../scope.ts';

/** Above 10080, which `fetch` refuses, and below the range of outgoing connections, which could take a port first. */
const [LOWEST, HIGHEST] = [10_081, 32_000];

/** Returns free TCP ports, one after the other, reserved until this worker ends. */
export async function freePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = randomInt(LOWEST, HIGHEST - count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const found = await Promise.all(ports.map(async (port) => (await claim(port)) && (await isFree(port))));
    if (!found.includes(false)) return ports;
  }
}

/** Lets the server listen on loopback until the end of the test, and resolves with its address. */
export async function listen(t: Scope, server: Server, port = 0): Promise<string> {
  t.teardown(() => server.close());
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Resolves with whether this worker could claim the port. The UDP port of the same number, which nothing here uses,
 * marks it as taken for other workers.
 */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => resolve(false));
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
    socket.unref();
  });
}

/** Whether nobody listens. To listen here would occupy the port in each child that is being forked meanwhile. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}
