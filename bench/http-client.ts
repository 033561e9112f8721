/**
 * HTTP/1.1 on bare sockets, as cheap as possible: requests are ready-made bytes, and only the status, Content-Length
 * and Retry-After of a response are read. The load generator must offer many times what the service can take.
 */
import { connect, type Socket } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** An HTTP status, or why there is none. */
export type Result = number | 'connection error' | 'timeout';

/** Called once, at the end of a request. */
export type OnResult = (result: Result, retryAfterS: number | undefined) => void;

/** The sockets take turns with it: its bytes are copied before the next socket reads. */
const READ_BUFFER = Buffer.allocUnsafe(65_536);
const HEAD_END = '\r\n\r\n';
const TIMEOUT_MS = 10_000;
const TIMEOUT_CHECK_MS = 200;

/** A connection with at most one open request. */
class Connection {
  readonly #socket: Socket;
  readonly #onClosed: (connection: Connection) => void;
  #onResult: OnResult | undefined;
  #timesOutAtMs = Number.POSITIVE_INFINITY;
  #received = '';
  #isOpen = true;

  constructor({ host, port }: Target, onClosed: (connection: Connection) => void) {
    this.#onClosed = onClosed;
    const callback = (bytes: number) => {
      this.#read(READ_BUFFER.toString('latin1', 0, bytes));
      return true;
    };
    this.#socket = connect({ host, port, noDelay: true, onread: { buffer: READ_BUFFER, callback } });
    this.#socket.on('error', () => this.close());
    this.#socket.on('close', () => this.close());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  send(request: Buffer, onResult: OnResult): void {
    this.#onResult = onResult;
    this.#timesOutAtMs = performance.now() + TIMEOUT_MS;
    this.#socket.write(request);
  }

  closeIfTimedOut(nowMs: number): void {
    if (this.#onResult !== undefined && nowMs > this.#timesOutAtMs) this.close('timeout');
  }

  close(result: Result = 'connection error'): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.destroy();
    this.#onClosed(this);
    this.#end(result);
  }

  #read(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd);
    const length = Number(headerOf(head, 'content-length') ?? Number.NaN);
    if (Number.isNaN(length)) {
      this.close(); // the start of the next response could not be found
      return;
    }
    if (this.#received.length < headEnd + HEAD_END.length + length) return;
    this.#received = '';
    const status = Number(head.slice(9, 12));
    const retryAfter = headerOf(head, 'retry-after');
    this.#end(status, retryAfter === undefined ? undefined : Number(retryAfter));
    if (headerOf(head, 'connection') === 'close') this.close();
  }

  #end(result: Result, retryAfterS?: number): void {
    const onResult = this.#onResult;
    this.#onResult = undefined;
    onResult?.(result, retryAfterS);
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

/** Up to `max` connections, which are reused. */
export class ConnectionPool {
  readonly #target: Target;
  readonly #max: number;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(target: Target, max: number) {
    this.#target = target;
    this.#max = max;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      for (const connection of this.#all) connection.closeIfTimedOut(nowMs);
    }, TIMEOUT_CHECK_MS);
  }

  /** Sends a request, unless all connections are in use. Returns whether it was sent. */
  send(request: Buffer, onResult: OnResult): boolean {
    const connection = this.#idleConnection();
    if (connection === undefined) return false;
    connection.send(request, (result, retryAfterS) => {
      if (connection.isOpen) this.#idle.push(connection);
      onResult(result, retryAfterS);
    });
    return true;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const connection of this.#all) connection.close();
  }

  #idleConnection(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isOpen) return idle;
    }
    if (this.#all.size >= this.#max) return undefined;
    const connection = new Connection(this.#target, (closed) => this.#all.delete(closed));
    this.#all.add(connection);
    return connection;
  }
}
