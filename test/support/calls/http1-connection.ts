/** HTTP/1.1 in raw bytes, over a connection that is kept where possible. */
import type { Socket } from 'node:net';
import type { Answer } from './answers.ts';
import { openSocket, type Target } from './sockets.ts';

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
  async exchange(request: Uint8Array, { isHead = false, giveUpMs = 20_000 } = {}): Promise<Answer | NoAnswer> {
    const isFresh = this.#socket?.writable === true && this.#received.length === 0;
    const socket = isFresh && this.#socket ? this.#socket : this.#open();
    const { promise, resolve } = Promise.withResolvers<Answer | NoAnswer>();
    this.#onChange = () => {
      const answer = this.#take(isHead);
      if (answer !== undefined) resolve(answer);
      else if (socket.closed) resolve('closed');
    };
    socket.write(request);
    const timer = setTimeout(() => resolve('silence'), giveUpMs);
    const answer = await promise;
    clearTimeout(timer);
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

  /**
   * Takes the first complete response; undefined when there is none yet. Each of the service has a Content-Length or no
   * body. Skips "100 Continue".
   */
  #take(isHead: boolean): Answer | undefined {
    const end = this.#received.indexOf(HEAD_END);
    if (end === -1) return undefined;
    const [statusLine = '', ...lines] = this.#received.toString('latin1', 0, end).split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const fields = lines.map((line): [string, string] => [
      line.split(':', 1)[0] ?? '',
      line.slice(line.indexOf(':') + 1),
    ]);
    const headers = new Headers(fields);
    const after = this.#received.subarray(end + HEAD_END.length);
    const length = isHead || status < 200 || status === 304 ? 0 : Number(headers.get('content-length') ?? 0);
    if (after.length < length) return undefined;
    this.#received = after.subarray(length);
    return status < 200 ? this.#take(isHead) : { status, headers, body: after.subarray(0, length) };
  }
}
