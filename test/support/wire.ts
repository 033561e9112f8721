/** HTTP as `fetch` can't send it: byte by byte over HTTP/1.1, and HTTP/2 without TLS. */
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { checkPromises } from './contract.ts';
import type { RestResponse } from './rest-client.ts';

/** Sends `request` as it is, on a connection of its own, and reads the one answer. */
export async function http1(address: string, request: string | Uint8Array): Promise<RestResponse> {
  const url = new URL(`http://${address}`);
  const socket = connect(Number(url.port), url.hostname);
  socket.write(request);
  let received = '';
  for await (const chunk of socket) {
    received += chunk;
    if (isWhole(received)) break;
  }
  socket.destroy();
  const [head = '', text = ''] = received.split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]));
  return answer(request.toString().split(' ', 1)[0] ?? '', Number(statusLine.split(' ')[1]), headers, text);
}

/** Every answer of ours says how long it is, or that it has no body. */
function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(received)?.[1] ?? '0';
  return end !== -1 && Buffer.byteLength(received.slice(end + 4)) >= Number(length);
}

interface Http2Request {
  readonly method: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Undefined: the stream ends with the headers. An empty one ends it with an empty frame. */
  readonly body?: string;
}

/** One request on an HTTP/2 connection of its own. No header is sent but those given. */
export async function http2(address: string, { method, path, headers, body }: Http2Request): Promise<RestResponse> {
  const session = connectHttp2(`http://${address}`);
  try {
    const pseudo = { ':method': method, ...(path === undefined ? { ':authority': address } : { ':path': path }) };
    const stream = session.request({ ...pseudo, ...headers }, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    return await new Promise((resolve, reject) => {
      const received = new Headers();
      let status = 0;
      let text = '';
      stream.setEncoding('utf8');
      stream.on('response', (answer) => {
        status = Number(answer[':status']);
        for (const [name, value] of Object.entries(answer)) {
          if (!name.startsWith(':')) received.set(name, String(value));
        }
      });
      stream.on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('error', reject);
      stream.on('end', () => resolve(answer(method, status, received, text)));
    });
  } finally {
    session.close();
  }
}

function answer(method: string, status: number, headers: Headers, text: string): RestResponse {
  checkPromises(method, status, headers, text);
  return {
    status,
    headers,
    text,
    get body() {
      return JSON.parse(text);
    },
  };
}
