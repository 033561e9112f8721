/**
 * HTTP/1.1 on bare sockets, as cheap as can be: a request is bytes that are ready, and of an answer the status, the
 * length and Retry-After are read. The load generator has to offer many times what the service can take.
 */
import { connect, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** A request as the bytes that go over the wire. */
export type RawRequest = Buffer;

/** An HTTP status, or what came in its place. */
export type Result = number | 'connection error' | 'timeout';

/** Is told of the end of a request. A header that is asked for is handed on with it. */
export type OnResult = (result: Result, retryAfterS: number | undefined) => void;

/** The sockets read into it in turn: what is in it is used up before the next one reads. */
const READ_BUFFER = Buffer.allocUnsafe(65_536);
const CRLF2 = '\r\n\r\n';

/** A connection that has one request at a time under way. */
export class Connection {
  readonly #socket: Socket;
  readonly #onClosed: (connection: Connection) => void;
  #onResult: OnResult | undefined;
  #expiresAtMs = Number.POSITIVE_INFINITY;
  /** The part of an answer that has come so far. */
  #received = '';
  #isOpen = true;

  constructor({ host, port }: Target, onClosed: (connection: Connection) => void) {
    this.#onClosed = onClosed;
    const callback = (bytes: number) => {
      this.#read(READ_BUFFER.toString('latin1', 0, bytes));
      return true;
    };
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer: READ_BUFFER, callback } });
    this.#socket.on('error', () => this.#end('connection error'));
    this.#socket.on('close', () => this.#end('connection error'));
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request; `onResult` is called once, at its end. */
  send(request: RawRequest, timeoutMs: number, onResult: OnResult): void {
    this.#onResult = onResult;
    this.#expiresAtMs = performance.now() + timeoutMs;
    this.#socket.write(request);
  }

  /** Gives a request up that has been under way for too long, and the connection with it. */
  expire(nowMs: number): void {
    if (this.#onResult !== undefined && nowMs > this.#expiresAtMs) this.#end('timeout');
  }

  close(): void {
    this.#end('connection error');
  }

  #read(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(CRLF2);
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd);
    const length = Number(headerOf(head, 'content-length') ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.#end('connection error'); // we could not tell where the next answer begins
      return;
    }
    if (this.#received.length < headEnd + CRLF2.length + length) return;
    this.#received = '';
    const retryAfter = headerOf(head, 'retry-after');
    const isLast = headerOf(head, 'connection') === 'close';
    const onResult = this.#onResult;
    this.#onResult = undefined;
    if (isLast) this.#end('connection error');
    onResult?.(Number(head.slice(9, 12)), retryAfter === undefined ? undefined : Number(retryAfter));
  }

  #end(result: Result): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
    this.#onClosed(this);
    const onResult = this.#onResult;
    this.#onResult = undefined;
    onResult?.(result, undefined);
  }
}

/** Envoy writes header names in lower case. */
function headerOf(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `);
  if (start === -1) return undefined;
  const from = start + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end === -1 ? undefined : end);
}

/** Connections that are used again. Each has a request at a time; none is opened beyond `max`. */
export class Pool {
  readonly #target: Target;
  readonly #max: number;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #expiry: NodeJS.Timeout;

  constructor(target: Target, max: number) {
    this.#target = target;
    this.#max = max;
    this.#expiry = setInterval(() => {
      const nowMs = performance.now();
      for (const connection of this.#all) connection.expire(nowMs);
    }, 200);
  }

  /** Sends a request on an idle connection or a new one. False when all are in use: nothing has been sent then. */
  send(request: RawRequest, timeoutMs: number, onResult: OnResult): boolean {
    const connection = this.#take();
    if (connection === undefined) return false;
    connection.send(request, timeoutMs, (result, retryAfterS) => {
      if (connection.isOpen) this.#idle.push(connection);
      onResult(result, retryAfterS);
    });
    return true;
  }

  close(): void {
    clearInterval(this.#expiry);
    for (const connection of this.#all) connection.close();
  }

  get size(): number {
    return this.#all.size;
  }

  #take(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen) return idle;
    }
    if (this.#all.size >= this.#max) return undefined;
    const connection = new Connection(this.#target, (closed) => this.#all.delete(closed));
    this.#all.add(connection);
    return connection;
  }
}
