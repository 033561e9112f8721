/** Ports that nobody listens on. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below Linux's range for outgoing connections: none of those can take a port between the look and the use. */
const [LOWEST, HIGHEST] = [10_000, 32_000];

const given = new Set<number>();

/** Ports that were free a moment ago, each another. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(LOWEST, HIGHEST);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
