/** HTTP that `fetch` can't send: raw bytes over HTTP/1.1, and HTTP/2 without TLS. Each request has its connection. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { checkAgainstDescription } from '../contract/description.ts';
import type { Answer } from './answers.ts';
import { http1Connection } from './http1-connection.ts';
import { exchangeAlone } from './http2.ts';
import { type RestResponse, withBody } from './rest-client.ts';

const GIVE_UP_MS = 60_000;

export async function http1(address: string, request: string | Uint8Array): Promise<RestResponse> {
  const [method = ''] = request.toString().split(' ', 1);
  const connection = http1Connection(address);
  const sending = { isHead: method === 'HEAD', giveUpMs: GIVE_UP_MS };
  const answer = await connection.exchange(Buffer.from(request), sending).finally(() => connection.close());
  if (typeof answer === 'string') throw new Error(`no response: ${answer}`);
  return toResponse(method, answer);
}

interface Http2Request {
  readonly method: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Undefined ends the stream with the headers, an empty body with an empty frame. */
  readonly body?: string | undefined;
}

export async function http2(address: string, { method, path, headers, body }: Http2Request): Promise<RestResponse> {
  const pseudo = { ':method': method, ...(path === undefined ? { ':authority': address } : { ':path': path }) };
  const sending = { body: body === undefined ? undefined : Buffer.from(body), giveUpMs: GIVE_UP_MS };
  const { status, ...answer } = await exchangeAlone(address, { ...pseudo, ...headers }, sending);
  if (status === undefined) throw new Error(`no response: reset with code ${answer.resetCode}`);
  return toResponse(method, { status, ...answer });
}

function toResponse(method: string, { status, headers, body }: Answer): RestResponse {
  const received = { status, headers, text: body.toString() };
  checkAgainstDescription(method, '', received);
  return withBody(received);
}
