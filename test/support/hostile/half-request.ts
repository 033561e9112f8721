/** A request over HTTP/2 whose body does not end. */
import type { OutgoingHttpHeaders } from 'node:http2';
import type { RestResponse } from '../rest-client.ts';
import { exchange } from './http2.ts';
import { openSession, type Target, toHeaders } from './sockets.ts';

/** Sends headers and a part of the body. Rejects when the stream ends without a response. */
export async function halfRequest(target: Target, headers: OutgoingHttpHeaders, part: string): Promise<RestResponse> {
  const session = await openSession(target);
  const request = { ':method': 'POST', ':path': '/categories', ...headers };
  const sent = { body: part === '' ? undefined : Buffer.from(part), isEnded: false };
  const answer = await exchange(session, request, sent).finally(() => session.destroy());
  if (answer.headers[':status'] === undefined) throw new Error('the stream ended without an answer');
  const text = answer.body.toString();
  return {
    status: Number(answer.headers[':status']),
    headers: toHeaders(answer.headers),
    text,
    get body() {
      return JSON.parse(text);
    },
  };
}
