/** What ends with a test, with the tests of a file, or with a program: among it a folder and ports of its own. */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import type { ExecutionContext } from 'ava';

/** Where what is started leaves how it ends: AVA's `t`, or `t` of `sharing`, `fresh` or `scoped`. */
export type Scope = Pick<ExecutionContext, 'teardown'>;

export function scopeOf(ends: AsyncDisposableStack): Scope {
  return { teardown: (end) => ends.defer(async () => void (await end())) };
}

/** Runs work, and then ends what it has started, the last first. */
export async function scoped<Result>(work: (t: Scope) => Promise<Result>): Promise<Result> {
  await using ends = new AsyncDisposableStack();
  return await work(scopeOf(ends));
}

/** Makes an empty folder. It is deleted at the end of the test, after all that is torn down until then. */
export function temporaryFolder({ teardown }: Scope): string {
  const folder = mkdtempSync(`${tmpdir()}/petstore-folder-`);
  teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

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
