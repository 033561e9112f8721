/** A TCP proxy in front of PostgreSQL or Redis, whose connections can be cut, refused, slowed or silenced. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../scope.ts';
import { freePorts } from './ports.ts';

export class TcpProxy {
  readonly port: number;
  /** Where new connections lead. */
  targetPort: number;
  /** How many connections it has accepted. */
  accepted = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The delay of each piece of data. */
  #delayMs = 0;
  #isRefusing = false;
  #isDroppingResponses = false;
  /** What is sent in place of the target's next piece of data. */
  #replacement: Buffer | undefined;
  /** Resolves when data may pass again; undefined while it may. */
  #silence: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.targetPort = targetPort;
    this.#server = createServer((socket) => this.#join(socket));
  }

  /** Forwards a free port of the loopback to another one, until the end of the test. */
  static async open(t: Scope, targetPort: number): Promise<TcpProxy> {
    const [port = 0] = await freePorts(1);
    const proxy = new TcpProxy(port, targetPort);
    proxy.#server.listen(port, '127.0.0.1');
    await once(proxy.#server, 'listening');
    t.teardown(() => proxy.#close());
    return proxy;
  }

  /** Ends all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends all connections, and each new one. */
  refuse(): void {
    this.#isRefusing = true;
    this.cut();
  }

  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Loses everything that the target sends from now on. */
  dropResponses(): void {
    this.#isDroppingResponses = true;
  }

  /** Sends these bytes in place of the next piece of data that the target sends. */
  replaceNext(bytes: Buffer): void {
    this.#replacement = bytes;
  }

  /** Passes nothing on, and closes no connection. */
  silence(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#silence ??= { over: promise, end: resolve };
  }

  /** Passes everything on again, including delayed data. */
  restore(): void {
    this.#isRefusing = false;
    this.#isDroppingResponses = false;
    this.#delayMs = 0;
    this.#silence?.end();
    this.#silence = undefined;
  }

  async #close(): Promise<void> {
    this.restore();
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    this.accepted += 1;
    if (this.#isRefusing) return void near.resetAndDestroy();
    const far = connect(this.targetPort, '127.0.0.1');
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // the other side's connection ends too
      socket.once('close', () => {
        this.#sockets.delete(socket);
        for (const one of [near, far]) one.destroy();
      });
    }
    void this.#pass(near, far, (chunk) => chunk);
    void this.#pass(far, near, (chunk) => this.#response(chunk));
  }

  #response(chunk: Buffer): Buffer | undefined {
    const sent = this.#isDroppingResponses ? undefined : (this.#replacement ?? chunk);
    this.#replacement = undefined;
    return sent;
  }

  async #pass(from: Socket, to: Socket, change: (chunk: Buffer) => Buffer | undefined): Promise<void> {
    try {
      for await (const received of from) {
        const chunk = change(received);
        if (chunk === undefined) continue;
        await this.#silence?.over;
        if (this.#delayMs > 0) await delay(this.#delayMs);
        if (!to.write(chunk)) await once(to, 'drain');
      }
      await this.#silence?.over;
      to.end();
    } catch {
      // One of the two was closed, so the other is closed too.
    }
  }
}
