/** HTTP that `fetch` can't send: raw bytes over HTTP/1.1, and HTTP/2 without TLS. */
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { checkPromises } from './contract.ts';
import type { RestResponse } from './rest-client.ts';

/** Sends `request` unchanged on a new connection, and reads one response of REST. */
export async function http1(address: string, request: string | Uint8Array): Promise<RestResponse> {
  const { status, headers, text } = await rawHttp1(address, request);
  return toResponse(request.toString().split(' ', 1)[0] ?? '', status, headers, text);
}

/** The same for a response of any protocol. */
export async function rawHttp1(address: string, request: string | Uint8Array) {
  const url = new URL(`http://${address}`);
  const socket = connect(Number(url.port), url.hostname);
  socket.write(request);
  let received = '';
  for await (const chunk of socket) {
    received += chunk;
    if (isComplete(received)) break;
  }
  socket.destroy();
  const [head = '', text = ''] = received.split('\r\n\r\n', 2);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]));
  return { status: Number(statusLine.split(' ')[1]), headers, text };
}

/** Every response of the service has a Content-Length, or no body. */
function isComplete(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(received)?.[1] ?? '0';
  return end !== -1 && Buffer.byteLength(received.slice(end + 4)) >= Number(length);
}

interface Http2Request {
  readonly method: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Undefined ends the stream with the headers, an empty body with an empty frame. */
  readonly body?: string;
}

/** Sends one request on a new HTTP/2 connection, with the given headers only. */
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
      stream.on('response', (response) => {
        status = Number(response[':status']);
        for (const [name, value] of Object.entries(response)) {
          if (!name.startsWith(':')) received.set(name, String(value));
        }
      });
      stream.on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('error', reject);
      stream.on('end', () => resolve(toResponse(method, status, received, text)));
    });
  } finally {
    session.close();
  }
}

function toResponse(method: string, status: number, headers: Headers, text: string): RestResponse {
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
