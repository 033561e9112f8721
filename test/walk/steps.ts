/** What lets one step fail of what is done with a driver, or through a proxy. */
import { connect, createServer, type Socket } from 'node:net';
import { listen } from '../support/machine/ports.ts';
import type { Scope } from '../support/scope.ts';

export function newSteps() {
  /** The step that fails next: how many come before it. */
  let armed: { before: number; readonly way: string } | undefined;
  let steps: string[] = [];
  return {
    /** Lets the step after `before` others fail, once. */
    fail(before: number, way: string) {
      [armed, steps] = [{ before, way }, []];
    },
    /** Lets nothing fail from now on. Returns whether a step has failed, and which ones there were up to it. */
    heal() {
      const hasFailed = armed === undefined;
      armed = undefined;
      return { hasFailed, steps };
    },
    /** Notes a step. Returns the way in which it fails; undefined if it does not. */
    next(step: string): string | undefined {
      if (armed === undefined) return undefined;
      steps.push(step);
      if (armed.before-- > 0) return undefined;
      const { way } = armed;
      armed = undefined;
      return way;
    },
    lastStep: () => steps.at(-1) ?? '',
  };
}

/**
 * Forwards a free port of the loopback to another one, until the end of the test, by what `speak` does with the two
 * ends of a connection. It returns whether the target's end is kept from the client.
 */
export async function openStepProxy(
  t: Scope,
  targetPort: number,
  speak: (near: Socket, far: Socket, close: () => void) => () => boolean,
) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    const both = [near, far];
    const close = () => both.forEach((socket) => void socket.destroy());
    const isSilent = speak(near, far, close);
    for (const socket of both) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        if (socket === near || !isSilent()) close();
      });
    }
  });
  const cut = () => sockets.forEach((socket) => void socket.destroy());
  t.teardown(cut);
  const address = await listen(t, server);
  return { port: Number(address.split(':')[1]), connections: () => sockets.size / 2, cut };
}
