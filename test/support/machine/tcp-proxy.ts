/** A TCP proxy in front of PostgreSQL or Redis, whose connections can be cut, refused, slowed or silenced. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts, type Scope } from '../scope.ts';

export type TcpProxy = Awaited<ReturnType<typeof openProxy>>;

/** What is done with the two ends of a connection. Returns whether the target's end is kept from the client. */
export type Speak = (near: Socket, far: Socket, close: () => void) => () => boolean;

/**
 * Forwards a free port of the loopback to another one, until the end of the test. `speak` does so in place of the
 * proxy, which then can only cut connections.
 */
export async function openProxy(t: Scope, targetPort: number, speak?: Speak) {
  const [port = 0] = await freePorts(1);
  const sockets = new Set<Socket>();
  let delayMs = 0;
  let isRefusing = false;
  /** Resolves when data may pass again; undefined while it may. */
  let silence: PromiseWithResolvers<void> | undefined;

  const unchanged = (chunk: Buffer): Buffer | undefined => chunk;
  /** What is sent in place of a piece of the target's data. */
  let change = unchanged;
  const changeNext = (next: typeof change) => {
    change = (chunk) => {
      change = unchanged;
      return next(chunk);
    };
  };
  const pass = async (from: Socket, to: Socket, changed: typeof change) => {
    try {
      for await (const received of from) {
        const chunk = changed(received);
        if (chunk === undefined) continue;
        await silence?.promise;
        if (delayMs > 0) await delay(delayMs);
        if (!to.write(chunk)) await once(to, 'drain');
      }
      await silence?.promise;
      to.end();
    } catch {
      // One of the two was closed, so the other is closed too.
    }
  };
  // Each side learns the end of the other by `pass`: while there is silence not even that.
  const allowHalfOpen = speak === undefined;
  const server = createServer({ allowHalfOpen }, (near) => {
    proxy.accepted += 1;
    if (isRefusing) return void near.resetAndDestroy();
    const far = connect({ port: proxy.targetPort, host: '127.0.0.1', allowHalfOpen });
    const close = () => [near, far].forEach((one) => void one.destroy());
    const isSilent = speak?.(near, far, close);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // the other side's connection ends too
      socket.once('close', () => {
        sockets.delete(socket);
        if (socket === near || !isSilent?.()) close();
      });
    }
    if (speak !== undefined) return;
    void pass(near, far, unchanged);
    void pass(far, near, (chunk) => change(chunk));
  });
  const proxy = {
    port,
    targetPort,
    accepted: 0,
    connections: () => sockets.size / 2,
    /** Ends all connections. New ones are accepted. */
    cut: () => sockets.forEach((socket) => void socket.resetAndDestroy()),
    /** Ends all connections, and each new one. */
    refuse() {
      isRefusing = true;
      proxy.cut();
    },
    slow(ms: number) {
      delayMs = ms;
    },
    /** Loses everything that the target sends from now on. */
    dropResponses() {
      change = () => undefined;
    },
    /** Sends these bytes in place of the next piece of data that the target sends. */
    replaceNext: (bytes: Buffer) => changeNext(() => bytes),
    /** Passes nothing on, and closes no connection. */
    silence() {
      silence ??= Promise.withResolvers();
    },
    /** The same behind the next piece of data that the target sends. */
    silenceBehindNext() {
      changeNext((chunk) => {
        setImmediate(() => proxy.silence());
        return chunk;
      });
    },
    /** Passes everything on again, including delayed data. */
    restore() {
      isRefusing = false;
      change = unchanged;
      delayMs = 0;
      silence?.resolve();
      silence = undefined;
    },
  };
  await once(server.listen(port, '127.0.0.1'), 'listening');
  t.teardown(async () => {
    proxy.restore();
    server.close();
    proxy.cut();
    await once(server, 'close');
  });
  return proxy;
}
