/** HTTP/1.1 in raw bytes, over a connection that is kept where possible. */
import type { Socket } from 'node:net';
import { openSocket, type Target } from './sockets.ts';

export interface Http1Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Why there is no response. */
export type NoAnswer = 'closed' | 'silence';

const HEAD_END = '\r\n\r\n';

export class Http1Connection {
  readonly #target: Target;
  #socket: Socket | undefined;
  #received: Buffer = Buffer.alloc(0);
  #onChange: () => void = () => undefined;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Sends a request and resolves with its response. `isHead`: the response has no body, despite its Content-Length. */
  async exchange(request: Buffer, { isHead = false, giveUpMs = 20_000 } = {}): Promise<Http1Answer | NoAnswer> {
    const isStale = this.#socket === undefined || !this.#socket.writable || this.#received.length > 0;
    const socket = isStale ? this.#open() : (this.#socket ?? this.#open());
    socket.write(request);
    const answer = await this.#answer(socket, isHead, giveUpMs);
    if (typeof answer === 'string' || answer.headers.get('connection') === 'close') this.close();
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    this.close();
    this.#received = Buffer.alloc(0);
    const socket = openSocket(this.#target);
    socket.on('data', (chunk: Buffer) => {
      if (socket !== this.#socket) return;
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#onChange();
    });
    socket.on('close', () => this.#onChange());
    this.#socket = socket;
    return socket;
  }

  #answer(socket: Socket, isHead: boolean, giveUpMs: number): Promise<Http1Answer | NoAnswer> {
    const { promise, resolve } = Promise.withResolvers<Http1Answer | NoAnswer>();
    const timer = setTimeout(() => resolve('silence'), giveUpMs);
    this.#onChange = () => {
      const taken = takeAnswer(this.#received, isHead);
      if (taken !== undefined) this.#received = taken.rest;
      if (taken !== undefined) resolve(taken.answer);
      else if (socket.closed) resolve('closed');
    };
    return promise.finally(() => {
      clearTimeout(timer);
      this.#onChange = () => undefined;
    });
  }
}

interface Taken {
  readonly answer: Http1Answer;
  readonly rest: Buffer;
}

/** The first complete response in these bytes; undefined when there is none yet. Skips "100 Continue". */
function takeAnswer(bytes: Buffer, isHead: boolean): Taken | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  const after = bytes.subarray(end + HEAD_END.length);
  if (status < 200) return takeAnswer(after, isHead);
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
  if (isHead || status === 204 || status === 304)
    return { answer: { status, headers, body: Buffer.alloc(0) }, rest: after };
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  const taken = isChunked ? takeChunks(after) : takeLength(after, Number(headers.get('content-length') ?? 0));
  return taken && { answer: { status, headers, body: taken.body }, rest: taken.rest };
}

function takeLength(bytes: Buffer, length: number) {
  return bytes.length < length ? undefined : { body: bytes.subarray(0, length), rest: bytes.subarray(length) };
}

function takeChunks(bytes: Buffer): { readonly body: Buffer; readonly rest: Buffer } | undefined {
  const parts: Buffer[] = [];
  for (let rest = bytes; ; ) {
    const lineEnd = rest.indexOf('\r\n');
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16);
    const start = lineEnd + 2;
    if (rest.length < start + length + 2) return undefined;
    parts.push(rest.subarray(start, start + length));
    rest = rest.subarray(start + length + 2);
    if (length === 0) return { body: Buffer.concat(parts), rest };
  }
}
