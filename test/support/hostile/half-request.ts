/** A request over HTTP/2 whose body does not end. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { RestResponse } from '../rest-client.ts';
import { openSession, type Target } from './sockets.ts';

/** Sends headers and a part of the body. Resolves with the response; rejects when the stream ends without one. */
export async function halfRequest(target: Target, headers: OutgoingHttpHeaders, part: string): Promise<RestResponse> {
  const session = await openSession(target);
  try {
    const stream = session.request({ ':method': 'POST', ':path': '/categories', ...headers }, { endStream: false });
    if (part !== '') stream.write(part);
    return await new Promise((resolve, reject) => {
      let received: IncomingHttpHeaders = {};
      let text = '';
      stream.setEncoding('utf8');
      stream.on('response', (answer) => {
        received = answer;
      });
      stream.on('data', (chunk: string) => {
        text += chunk;
      });
      stream.on('error', reject);
      stream.on('end', () => resolve(toResponse(received, text)));
      stream.on('close', () => reject(new Error('the stream ended without an answer')));
    });
  } finally {
    session.destroy();
  }
}

function toResponse({ ':status': status, ...fields }: IncomingHttpHeaders & { ':status'?: unknown }, text: string) {
  const pairs = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
  return {
    status: Number(status),
    headers: new Headers(pairs),
    text,
    get body() {
      return JSON.parse(text);
    },
  };
}
