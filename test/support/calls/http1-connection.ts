/** HTTP/1.1 in raw bytes, over a connection that is kept where possible. */
import type { Socket } from 'node:net';
import type { Answer } from './answers.ts';
import { openSocket, type To } from './http2.ts';

export type NoAnswer = 'closed' | 'silence';

const HEAD_END = '\r\n\r\n';

export type Http1Connection = ReturnType<typeof http1Connection>;

export function http1Connection(to: To) {
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);
  let onChange = (): void => undefined;

  const close = () => {
    socket?.destroy();
    socket = undefined;
  };
  const open = () => {
    close();
    received = Buffer.alloc(0);
    const opened = openSocket(to);
    opened.on('data', (chunk: Buffer) => {
      if (opened !== socket) return;
      received = Buffer.concat([received, chunk]);
      onChange();
    });
    opened.on('close', () => onChange());
    socket = opened;
    return opened;
  };
  /**
   * Takes the first complete response; undefined when there is none yet. Each of the service has a Content-Length or no
   * body. Skips "100 Continue".
   */
  const take = (isHead: boolean): Answer | undefined => {
    const end = received.indexOf(HEAD_END);
    if (end === -1) return undefined;
    const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
    const status = Number(statusLine.split(' ')[1]);
    const fields = lines.map((line): [string, string] => [
      line.split(':', 1)[0] ?? '',
      line.slice(line.indexOf(':') + 1),
    ]);
    const headers = new Headers(fields);
    const after = received.subarray(end + HEAD_END.length);
    const length = isHead || status < 200 || status === 304 ? 0 : Number(headers.get('content-length') ?? 0);
    if (after.length < length) return undefined;
    received = after.subarray(length);
    return status < 200 ? take(isHead) : { status, headers, body: after.subarray(0, length) };
  };
  return {
    close,
    /** Resolves with the response to a request. `isHead`: it has no body, despite its Content-Length. */
    async exchange(request: Uint8Array, { isHead = false, giveUpMs = 20_000 } = {}): Promise<Answer | NoAnswer> {
      const used = socket?.writable === true && received.length === 0 ? socket : open();
      const { promise, resolve } = Promise.withResolvers<Answer | NoAnswer>();
      onChange = () => {
        const answer = take(isHead);
        if (answer !== undefined) resolve(answer);
        else if (used.closed) resolve('closed');
      };
      used.write(request);
      const timer = setTimeout(() => resolve('silence'), giveUpMs);
      const answer = await promise;
      clearTimeout(timer);
      if (typeof answer === 'string' || answer.headers.get('connection') === 'close') close();
      return answer;
    },
  };
}
